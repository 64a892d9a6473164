#include "layers/silence.h"

#include "layers/kernel.h"

namespace gf {
namespace {

class SilenceKernel : public Kernel {
 public:
  SilenceKernel(const SilenceLayer& layer, const KernelContext& context) {}
  void Plan(KernelPlan* plan) override {}
  void Forward(const KernelArgs& args) override {}
};

GF_REGISTER(KernelRegistry, "cpu/Silence", KernelOf<SilenceLayer, SilenceKernel>);

}  // namespace
}  // namespace gf

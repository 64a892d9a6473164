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

GF_REGISTER_KERNEL("cpu/Silence", SilenceLayer, SilenceKernel);

}  // namespace
}  // namespace gf

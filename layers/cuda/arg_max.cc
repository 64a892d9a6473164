#include "layers/arg_max.h"

#include "layers/cuda/arg_max_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class ArgMaxKernel : public RepeatingKernel {
 public:
  ArgMaxKernel(const ArgMaxLayer& layer, const KernelContext& context)
      : ranking_(layer.ranking()), context_(context) {}

  void Setup(KernelSetup* setup) override { setup->bottoms[0].layout = Layout(); }

  void Forward(const KernelArgs& args) override {
    RankClasses(ranking_, context_.compute, args.bottoms[0], static_cast<float*>(args.tops[0]),
                StreamOf(context_));
  }

 private:
  const Ranking ranking_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cuda/ArgMax", KernelOf<ArgMaxLayer, ArgMaxKernel>);

}  // namespace
}  // namespace gf

#include "layers/softmax.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/softmax_kernels.h"

namespace gf {
namespace {

class SoftmaxKernel : public RepeatingKernel {
 public:
  SoftmaxKernel(const SoftmaxLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = setup->tops[0].layout = Layout();
    setup->needs_top[0] = setup->backward;
    setup->in_place = setup->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    Softmax(layer_.view(), context_.compute, args.bottoms[0], args.tops[0], StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    SoftmaxGradient(layer_.view(), context_.compute, args.tops[0], args.top_diffs[0][0],
                    args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const SoftmaxLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cuda/Softmax", KernelOf<SoftmaxLayer, SoftmaxKernel>);

}  // namespace
}  // namespace gf

#include "layers/interp.h"

#include "layers/cuda/interp_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class InterpKernel : public RepeatingKernel {
 public:
  InterpKernel(const InterpLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    const Shape &bottom = setup->bottoms[0].shape, &top = setup->tops[0].shape;
    CheckImageSize(layer_, bottom);
    CheckImageSize(layer_, top);
    setup->bottoms[0].layout = WantedLayout(bottom);
    setup->tops[0].layout = WantedLayout(top);
    images_ = {bottom[0], static_cast<int>(bottom[1]), layer_.rows(), layer_.columns()};
  }

  void Forward(const KernelArgs& args) override {
    Interpolate(images_, context_.compute, args.bottoms[0], args.tops[0], StreamOf(context_));
  }
  void Backward(const KernelArgs& args) override {
    InterpolateGradient(images_, context_.compute, args.top_diffs[0][0], args.bottom_diffs[0],
                        StreamOf(context_));
  }

 private:
  const InterpLayer& layer_;
  const KernelContext context_;
  InterpImages images_;
};

GF_REGISTER(KernelRegistry, "cuda/Interp", KernelOf<InterpLayer, InterpKernel>);

}  // namespace
}  // namespace gf

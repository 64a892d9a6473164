#include "layers/scale.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/scale_kernels.h"

namespace gf {
namespace {

class ScaleKernel : public RepeatingKernel {
 public:
  ScaleKernel(const ScaleLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    const bool channels = layer_.begin() == 1 && layer_.end() == 2;
    if (!channels) bottom.layout = Layout();
    const Shape& shape = bottom.shape;
    view_ = {shape.count(0, layer_.begin()), shape.count(layer_.begin(), layer_.end()),
             shape.count(layer_.end(), shape.rank())};
    if (!bottom.layout.plain()) view_ = {view_.outer * view_.inner, view_.channels, 1};
    CheckRowSize(layer_, view_.channels * view_.inner);
    SetUpScale(layer_, setup);
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.negative_only()) {
      return PreluForward(view_, context_.compute, args.bottoms[0], args.master[0], args.tops[0],
                          StreamOf(context_));
    }
    ScaleForward(view_, context_.compute, args.bottoms[0], EntryOrNull(args.master, layer_.gamma()),
                 EntryOrNull(args.master, layer_.beta()), args.tops[0], StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    if (layer_.negative_only()) {
      return PreluGradient(view_, context_.compute, args.bottoms[0], args.top_diffs[0][0],
                           args.master[0], args.parameter_diffs[0], args.bottom_diffs[0],
                           StreamOf(context_));
    }
    ScaleGradient(
        view_, context_.compute, args.bottoms[0], args.top_diffs[0][0],
        EntryOrNull(args.master, layer_.gamma()), EntryOrNull(args.parameter_diffs, layer_.gamma()),
        EntryOrNull(args.parameter_diffs, layer_.beta()), args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const ScaleLayer& layer_;
  const KernelContext context_;
  ScaleView view_;
};

GF_REGISTER(KernelRegistry, "cuda/Bias", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cuda/PReLU", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cuda/Scale", KernelOf<ScaleLayer, ScaleKernel>);

}  // namespace
}  // namespace gf

#include "layers/scale.h"

#include "layers/cpu/channel_affine.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ScaleKernel : public Kernel {
 public:
  ScaleKernel(const ScaleLayer& layer, const KernelContext& context)
      : layer_(layer), affine_(context.compute, layer.negative_only() ? Prelu() : Scale()) {}

  void Setup(KernelSetup* setup) override {
    ChannelView view;
    if (layer_.begin() != 1 || layer_.end() != 2 || !GetChannelView(setup->bottoms[0], &view)) {
      setup->bottoms[0].layout = Layout();
      const Shape& shape = setup->bottoms[0].shape;
      view.n = shape.count(0, layer_.begin());
      view.channels = view.blocks = shape.count(layer_.begin(), layer_.end());
      view.spatial = shape.count(layer_.end(), shape.rank());
      view.block = 1;
    }
    affine_.SetView(view);
    SetUpScale(layer_, setup);
  }

  void Forward(const KernelArgs& args) override {
    affine_.Forward(args.bottoms[0], EntryOrNull(args.master, layer_.gamma()),
                    EntryOrNull(args.master, layer_.beta()), args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    // Without gamma, x may be gone and nobody wants the sums of its products.
    const void* const x = layer_.gamma() < 0 ? dy : args.bottoms[0];
    affine_.Backward(x, dy, EntryOrNull(args.master, layer_.gamma()), args.bottom_diffs[0],
                     EntryOrNull(args.parameter_diffs, layer_.gamma()),
                     EntryOrNull(args.parameter_diffs, layer_.beta()));
  }

 private:
  const ScaleLayer& layer_;
  ChannelAffine affine_;
};

GF_REGISTER(KernelRegistry, "cpu/Bias", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cpu/PReLU", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cpu/Scale", KernelOf<ScaleLayer, ScaleKernel>);

}  // namespace
}  // namespace gf

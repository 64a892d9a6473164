#include "layers/scale.h"

#include "layers/cpu/channel_affine.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ScaleKernel : public Kernel {
 public:
  ScaleKernel(const ScaleLayer& layer, const KernelContext& context)
      : layer_(layer), affine_(context.compute) {}

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
    setup->tops[0].layout = setup->bottoms[0].layout;
    for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
    setup->needs_bottom[0] = setup->backward;
    setup->in_place = !setup->backward;
    setup->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    affine_.Forward(args.bottoms[0], args.master[0], layer_.bias() ? args.master[1] : nullptr,
                    args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    affine_.Backward(args.bottoms[0], args.top_diffs[0][0], args.master[0], args.bottom_diffs[0],
                     args.parameter_diffs[0], layer_.bias() ? args.parameter_diffs[1] : nullptr);
  }

 private:
  const ScaleLayer& layer_;
  ChannelAffine affine_;
};

GF_REGISTER(KernelRegistry, "cpu/Scale", KernelOf<ScaleLayer, ScaleKernel>);

}  // namespace
}  // namespace gf

#include "layers/layer.h"

namespace gf {
namespace {

// Layers that the net puts in by itself, all of whose bottoms and tops have one shape:
// Reorder converts between layouts, GradientSum adds up the gradients of a blob.
class InternalLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxBottoms() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override { tops_ = {bottoms[0]}; }
};

GF_REGISTER(LayerRegistry, "_Reorder", InternalLayer);
GF_REGISTER(LayerRegistry, "_GradientSum", InternalLayer);

}  // namespace
}  // namespace gf

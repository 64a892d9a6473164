#include "layers/scale_by.h"

#include "core/config/net.pb.h"

namespace gf {

void ScaleByLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape &values = bottoms[x()], &factors = bottoms[this->factor()];
  int axes = factors.rank();
  begin_ = 0;
  if (is_axpy()) {
    // One factor per plane: trailing extents are 1.
    while (axes > 2 && factors[axes - 1] == 1) --axes;
    if (axes != 2 || values.rank() < 2) {
      Fail("bottom 0, the factors, must be N x C or N x C x 1 x 1, got ", factors.ToString());
    }
    if (bottoms[2] != values) {
      Fail("bottoms 1 and 2 must have one shape, got ", values.ToString(), " and ",
           bottoms[2].ToString());
    }
  } else {
    begin_ =
        Axis(adds() ? param().bias_param().axis() : param().scale_param().axis(), values.rank());
  }
  end_ = begin_ + axes;
  bool fits = end_ <= values.rank();
  for (int i = 0; fits && i < axes; ++i) fits = factors[i] == values[begin_ + i];
  if (!fits) {
    Fail(adds() ? "the terms" : "the factors", " have the shape ", factors.ToString(),
         ", which does not fit ", values.ToString(), " from axis ", begin_, " on");
  }
  tops_ = {values};
}

void SetUpScaleBy(const ScaleByLayer& layer, KernelSetup* setup) {
  const Layout& layout = setup->bottoms[layer.x()].layout;
  setup->bottoms[layer.factor()].layout = Layout();
  setup->tops[0].layout = layout;
  if (layer.addend() >= 0) setup->bottoms[layer.addend()].layout = layout;
  const bool multiplies = setup->backward && !layer.adds();
  setup->needs_bottom[layer.x()] = multiplies && setup->propagate[layer.factor()];
  setup->needs_bottom[layer.factor()] = multiplies && setup->propagate[layer.x()];
  setup->in_place = layer.x() == 0 && !multiplies;
  setup->in_place_backward = true;
  setup->in_place_backward_bottom = layer.addend() >= 0 ? layer.addend() : layer.x();
}

namespace {

GF_REGISTER(LayerRegistry, "Axpy", ScaleByLayer);
GF_REGISTER(LayerRegistry, "BiasBy", ScaleByLayer);
GF_REGISTER(LayerRegistry, "ScaleBy", ScaleByLayer);

}  // namespace
}  // namespace gf

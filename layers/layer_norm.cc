#include "layers/layer_norm.h"

#include "core/config/net.pb.h"

namespace gf {

float LayerNormLayer::eps() const { return param().layer_norm_param().eps(); }
bool LayerNormLayer::affine() const { return param().layer_norm_param().elementwise_affine(); }
bool LayerNormLayer::over_channels() const {
  return param().layer_norm_param().channels_only() && axis_ == 1;
}

void LayerNormLayer::SetUp(const std::vector<Shape>& bottoms) {
  SameShapeLayer::SetUp(bottoms);
  const LayerNormParameter& norm = param().layer_norm_param();
  const Shape& bottom = bottoms[0];
  axis_ = Axis(norm.axis(), bottom.rank());
  if (!(norm.eps() > 0)) Fail("layer_norm_param.eps must be positive, got ", norm.eps());
  const int end = norm.channels_only() ? axis_ + 1 : bottom.rank();
  view_ = {bottom.count(0, axis_), bottom.count(axis_, end), bottom.count(end, bottom.rank())};
  if (!affine()) return;
  const Shape shape(
      std::vector<int64_t>(bottom.dims().begin() + axis_, bottom.dims().begin() + end));
  FillerParameter ones;
  ones.set_type("constant");
  ones.set_value(1);
  parameters_ = {
      Parameter(0, "weight", shape, norm.has_weight_filler() ? norm.weight_filler() : ones),
      Parameter(1, "bias", shape, norm.bias_filler())};
}

LayerNormView LayerNormLayer::View(bool channels_last) const {
  if (!channels_last) return view_;
  return {view_.outer * view_.inner, view_.channels, 1};
}

namespace {

GF_REGISTER(LayerRegistry, "LayerNorm", LayerNormLayer);

}  // namespace
}  // namespace gf

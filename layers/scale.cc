#include "layers/scale.h"

#include "core/config/net.pb.h"

namespace gf {

bool ScaleLayer::bias() const { return param().scale_param().bias_term(); }

void ScaleLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ScaleParameter& scale = param().scale_param();
  const Shape& bottom = bottoms[0];
  begin_ = Axis(scale.axis(), bottom.rank());
  if (scale.num_axes() < -1 || scale.num_axes() > bottom.rank() - begin_) {
    Fail("scale_param.num_axes ", scale.num_axes(), " from axis ", begin_,
         " is out of range for bottom ", bottom.ToString());
  }
  end_ = scale.num_axes() == -1 ? bottom.rank() : begin_ + scale.num_axes();
  tops_ = {bottom};

  std::vector<int64_t> dims(bottom.dims().begin() + begin_, bottom.dims().begin() + end_);
  if (dims.empty()) dims = {1};
  FillerParameter ones;
  ones.set_type("constant");
  ones.set_value(1);
  parameters_ = {Parameter(0, "weight", Shape(dims), scale.has_filler() ? scale.filler() : ones)};
  if (bias()) parameters_.push_back(Parameter(1, "bias", Shape(dims), scale.bias_filler()));
}

namespace {

GF_REGISTER(LayerRegistry, "Scale", ScaleLayer);

}  // namespace
}  // namespace gf

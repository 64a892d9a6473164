#include "layers/scale.h"

#include "core/config/net.pb.h"

namespace gf {

int ScaleLayer::beta() const {
  if (gamma() < 0) return 0;
  return param().scale_param().bias_term() ? 1 : -1;
}

int ScaleLayer::FirstAxis() const {
  if (negative_only()) return 1;
  return gamma() < 0 ? param().bias_param().axis() : param().scale_param().axis();
}

int ScaleLayer::AxisCount() const {
  if (negative_only()) return param().prelu_param().channel_shared() ? 0 : 1;
  return gamma() < 0 ? param().bias_param().num_axes() : param().scale_param().num_axes();
}

FillerParameter ScaleLayer::GammaFiller() const {
  if (param().scale_param().has_filler()) return param().scale_param().filler();
  if (param().prelu_param().has_filler()) return param().prelu_param().filler();
  FillerParameter filler;
  filler.set_type("constant");
  filler.set_value(negative_only() ? 0.25f : 1);
  return filler;
}

void ScaleLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const int num_axes = AxisCount();
  begin_ = Axis(FirstAxis(), bottom.rank());
  if (num_axes < -1 || num_axes > bottom.rank() - begin_) {
    Fail(gamma() < 0 ? "bias_param" : "scale_param", ".num_axes ", num_axes, " from axis ", begin_,
         " is out of range for bottom ", bottom.ToString());
  }
  end_ = num_axes == -1 ? bottom.rank() : begin_ + num_axes;
  tops_ = {bottom};

  std::vector<int64_t> dims(bottom.dims().begin() + begin_, bottom.dims().begin() + end_);
  if (dims.empty()) dims = {1};
  parameters_.clear();
  if (gamma() >= 0) parameters_.push_back(Parameter(gamma(), "weight", Shape(dims), GammaFiller()));
  if (beta() >= 0) {
    parameters_.push_back(Parameter(
        beta(), "bias", Shape(dims),
        gamma() < 0 ? param().bias_param().filler() : param().scale_param().bias_filler()));
  }
}

void SetUpScale(const ScaleLayer& layer, KernelSetup* setup) {
  setup->tops[0].layout = setup->bottoms[0].layout;
  for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
  setup->needs_bottom[0] = setup->backward && layer.gamma() >= 0;
  setup->in_place = !setup->needs_bottom[0];
  setup->in_place_backward = true;
}

namespace {

GF_REGISTER(LayerRegistry, "Bias", ScaleLayer);
GF_REGISTER(LayerRegistry, "PReLU", ScaleLayer);
GF_REGISTER(LayerRegistry, "Scale", ScaleLayer);

}  // namespace
}  // namespace gf

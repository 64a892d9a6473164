#include "layers/scale.h"

#include "core/config/net.pb.h"

namespace gf {

int ScaleLayer::beta() const {
  if (gamma() < 0) return 0;
  return param().scale_param().bias_term() ? 1 : -1;
}

void ScaleLayer::SetUp(const std::vector<Shape>& bottoms) {
  const bool has_gamma = gamma() >= 0;
  const ScaleParameter& scale = param().scale_param();
  const BiasParameter& bias = param().bias_param();
  const int num_axes = has_gamma ? scale.num_axes() : bias.num_axes();
  const Shape& bottom = bottoms[0];
  begin_ = Axis(has_gamma ? scale.axis() : bias.axis(), bottom.rank());
  if (num_axes < -1 || num_axes > bottom.rank() - begin_) {
    Fail(has_gamma ? "scale_param" : "bias_param", ".num_axes ", num_axes, " from axis ", begin_,
         " is out of range for bottom ", bottom.ToString());
  }
  end_ = num_axes == -1 ? bottom.rank() : begin_ + num_axes;
  tops_ = {bottom};

  std::vector<int64_t> dims(bottom.dims().begin() + begin_, bottom.dims().begin() + end_);
  if (dims.empty()) dims = {1};
  parameters_.clear();
  if (has_gamma) {
    FillerParameter ones;
    ones.set_type("constant");
    ones.set_value(1);
    parameters_.push_back(
        Parameter(gamma(), "weight", Shape(dims), scale.has_filler() ? scale.filler() : ones));
  }
  if (beta() >= 0) {
    parameters_.push_back(
        Parameter(beta(), "bias", Shape(dims), has_gamma ? scale.bias_filler() : bias.filler()));
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
GF_REGISTER(LayerRegistry, "Scale", ScaleLayer);

}  // namespace
}  // namespace gf

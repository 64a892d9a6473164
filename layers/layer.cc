#include "layers/layer.h"

#include <cmath>

#include "core/config/net.pb.h"

namespace gf {

Layer::Layer(const LayerParameter& param, Phase phase, std::string location)
    : param_(std::make_unique<LayerParameter>(param)),
      phase_(phase),
      location_(std::move(location)) {}

Layer::~Layer() = default;

const std::string& Layer::name() const { return param_->name(); }
const std::string& Layer::type() const { return param_->type(); }

float Layer::LossWeight(int top) const {
  return top < param_->loss_weight_size() ? param_->loss_weight(top) : 0;
}

ParameterSpec Layer::Parameter(int i, const std::string& name, Shape shape,
                               const FillerParameter& filler) const {
  ParameterSpec spec{name, std::move(shape), std::make_shared<FillerParameter>(filler)};
  if (i < param_->param_size()) {
    spec.lr_mult = param_->param(i).lr_mult();
    spec.decay_mult = param_->param(i).decay_mult();
    CheckMultiplier(i, "lr_mult", spec.lr_mult);
    CheckMultiplier(i, "decay_mult", spec.decay_mult);
  }
  return spec;
}

void Layer::CheckMultiplier(int i, const char* field, float value) const {
  if (value >= 0 && std::isfinite(value)) return;
  Fail("param[", i, "].", field, " is ", value, "; it must be a finite number of at least 0");
}

int Layer::Axis(int axis, int rank) const {
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) {
    Fail("axis ", axis, " is out of range for a bottom with ", rank, " axes");
  }
  return at;
}

}  // namespace gf

#include "layers/layer.h"

namespace gf {

ParameterSpec Layer::Parameter(int i, const std::string& name, Shape shape,
                               const FillerParameter& filler) const {
  ParameterSpec spec{name, std::move(shape), filler};
  if (i < param_.param_size()) {
    spec.lr_mult = param_.param(i).lr_mult();
    spec.decay_mult = param_.param(i).decay_mult();
  }
  return spec;
}

int Layer::Axis(int axis, int rank) const {
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) {
    Fail("axis ", axis, " is out of range for a bottom with ", rank, " axes");
  }
  return at;
}

}  // namespace gf

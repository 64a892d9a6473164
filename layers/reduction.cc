#include "layers/reduction.h"

#include "core/config/net.pb.h"

namespace gf {

void ReductionLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  axis_ = Axis(param().reduction_param().axis(), bottom.rank());
  rows_ = bottom.count(0, axis_);
  inner_ = bottom.count(axis_, bottom.rank());
  std::vector<int64_t> dims(bottom.dims().begin(), bottom.dims().begin() + axis_);
  if (dims.empty()) dims = {1};
  tops_ = {Shape(dims)};
}

bool ReductionLayer::absolute() const {
  return param().reduction_param().operation() == ReductionParameter::ASUM;
}

bool ReductionLayer::squared() const {
  return param().reduction_param().operation() == ReductionParameter::SUMSQ;
}

double ReductionLayer::factor() const {
  const ReductionParameter& reduction = param().reduction_param();
  const bool mean = reduction.operation() == ReductionParameter::MEAN;
  return mean ? reduction.coeff() / static_cast<double>(inner_) : reduction.coeff();
}

namespace {

GF_REGISTER(LayerRegistry, "Reduction", ReductionLayer);

}  // namespace
}  // namespace gf

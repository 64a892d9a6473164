#include "layers/inner_product.h"

#include "core/config/net.pb.h"

namespace gf {

bool InnerProductLayer::relu() const { return param().fusion().relu(); }

void InnerProductLayer::SetUp(const std::vector<Shape>& bottoms) {
  const InnerProductParameter& p = param().inner_product_param();
  const Shape& bottom = bottoms[0];
  if (p.transpose()) Fail("transpose is not supported; store the weights as [num_output, K]");
  if (p.num_output() < 1) Fail("num_output is missing or zero");
  const int axis = Axis(p.axis(), bottom.rank());
  rows_ = bottom.count(0, axis);
  std::vector<int64_t> top(bottom.dims().begin(), bottom.dims().begin() + axis);
  top.push_back(p.num_output());
  tops_ = {Shape(std::move(top))};
  parameters_ = {Parameter(0, "weight", Shape{p.num_output(), bottom.count(axis, bottom.rank())},
                           p.weight_filler())};
  if (p.bias_term()) {
    parameters_.push_back(Parameter(1, "bias", Shape{p.num_output()}, p.bias_filler()));
  }
}

int64_t InnerProductLayer::ForwardFlops() const { return 2 * rows_ * parameters_[0].shape.count(); }

GF_REGISTER(LayerRegistry, "InnerProduct", InnerProductLayer);

}  // namespace gf

#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// The sum (with coefficients), product or maximum of two or more bottoms of one shape, and
// a ReLU on the result if fusion().relu(). The gradient of the product is always the stable
// one (the product of the other bottoms), whatever stable_prod_grad says.
class EltwiseLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return 2; }
  int MaxBottoms() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  EltwiseParameter::EltwiseOp operation() const { return param().eltwise_param().operation(); }
  // One coefficient per bottom; 1 unless given.
  const std::vector<float>& coefficients() const { return coefficients_; }
  bool relu() const { return param().fusion().relu(); }

 private:
  std::vector<float> coefficients_;
};

}  // namespace gf

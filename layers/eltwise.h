#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

enum EltwiseParameter_EltwiseOp : int;

// The sum (with coefficients), product or maximum of two or more bottoms with equal shapes,
// followed by a ReLU if fusion().relu(). The gradient of a product is always computed in the stable
// way, as the product of the other bottoms; stable_prod_grad has no effect.
class EltwiseLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return 2; }
  int MaxBottoms() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  EltwiseParameter_EltwiseOp operation() const;
  // One coefficient per bottom; the default is 1.
  const std::vector<float>& coefficients() const { return coefficients_; }
  bool relu() const;

 private:
  std::vector<float> coefficients_;
};

}  // namespace gf

#pragma once

#include "layers/layer.h"

namespace gf {

// y = x for x > 0, negative_slope * x elsewhere.
class ReluLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  float negative_slope() const { return param().relu_param().negative_slope(); }
};

// y = 1 / (1 + exp(-x))
class SigmoidLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
};

// y = tanh(x)
class TanhLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
};

}  // namespace gf

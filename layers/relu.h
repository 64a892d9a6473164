#pragma once

#include "layers/same_shape.h"

namespace gf {

// y = x for x > 0, negative_slope * x elsewhere.
class ReluLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  float negative_slope() const { return param().relu_param().negative_slope(); }
};

}  // namespace gf

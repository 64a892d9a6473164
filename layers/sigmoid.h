#pragma once

#include "layers/same_shape.h"

namespace gf {

// y = 1 / (1 + exp(-x))
class SigmoidLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
};

}  // namespace gf

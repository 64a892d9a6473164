#pragma once

#include "layers/same_shape.h"

namespace gf {

// y = tanh(x)
class TanhLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
};

}  // namespace gf

#pragma once

#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// y = x for x > 0, negative_slope * x elsewhere.
class ReluLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  float negative_slope() const;
  // Whether the gradient can be computed from the top. With a negative slope, negative bottoms give
  // positive tops, so the gradient needs the sign of the bottom.
  bool gradient_from_top() const { return negative_slope() >= 0; }
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

// The agreement of all kernels of these layers with the net: the top has the bottom's layout and
// may lie in its memory. Backward reads the top if `from_top`, the bottom otherwise.
void SetUpActivation(bool from_top, KernelSetup* setup);

}  // namespace gf

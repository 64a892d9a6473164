#pragma once

#include <vector>

#include "layers/dropping.h"

namespace gf {

// Drops images, or the whole batch of a rank. G. Huang et al., "Deep Networks with Stochastic
// Depth", ECCV 2016; torchvision.ops.StochasticDepth.
class StochasticDepthLayer : public DroppingLayer {
 public:
  using DroppingLayer::DroppingLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  // An image is an index of the first axis.
  int64_t Parts(const TensorDesc& bottom) const override;
};

}  // namespace gf

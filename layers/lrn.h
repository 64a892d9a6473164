#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Local response normalization (Krizhevsky et al., NIPS 2012, section 3.3). ACROSS_CHANNELS: y = x
// * (k + alpha / n * sum of x^2 over the n channels around)^-beta. WITHIN_CHANNEL: y = x * (1 +
// alpha / n^2 * sum of x^2 over the n x n window around)^-beta; outside the image x is 0.
class LrnLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  int64_t ForwardFlops() const override;

  bool within_channel() const;
  int64_t size() const;
  float alpha() const;
  float beta() const;
  float k() const;
};

}  // namespace gf

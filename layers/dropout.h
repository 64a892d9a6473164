#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Phase TRAIN: y = x / (1 - ratio) with probability 1 - ratio, otherwise 0. Phase TEST: y = x.
class DropoutLayer : public SameShapeLayer {
 public:
  using SameShapeLayer::SameShapeLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  float ratio() const;
  bool identity() const;
};

}  // namespace gf

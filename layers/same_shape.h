#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// A layer with one bottom whose top has the bottom's shape.
class SameShapeLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override { tops_ = {bottoms[0]}; }
};

}  // namespace gf

#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Merges the axes from axis to end_axis (both included) into one.
class FlattenLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
};

}  // namespace gf

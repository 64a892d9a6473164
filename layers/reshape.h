#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Gives the axes [axis, axis + num_axes) of its bottom other extents; 0 keeps an extent, one
// -1 is inferred. num_axes = -1: all axes from `axis` on. A negative axis counts from behind
// the last axis, so that -1 inserts axes at the end.
class ReshapeLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
};

}  // namespace gf

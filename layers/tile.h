#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Repeats its bottom `tiles` times along an axis: copies of the whole bottom follow each other.
class TileLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  int axis() const { return axis_; }
  int64_t tiles() const;

 private:
  int axis_ = 1;
};

}  // namespace gf

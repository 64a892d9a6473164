#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Divides its bottom along an axis among its tops, at slice_point or into equal parts.
class SliceLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxTops() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  int axis() const { return axis_; }

 private:
  // The extents of the tops along the axis, which has `extent`.
  std::vector<int64_t> Extents(int64_t extent) const;

  int axis_ = 1;
};

}  // namespace gf

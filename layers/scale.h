#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// y = gamma * x (+ beta), where gamma and beta have the extents of the axes [axis, axis + num_axes)
// and are broadcast over the others.
class ScaleLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool bias() const;
  // gamma belongs to the axes [begin, end) of the bottom.
  int begin() const { return begin_; }
  int end() const { return end_; }

 private:
  int begin_ = 1, end_ = 2;
};

}  // namespace gf

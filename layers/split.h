#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Copies of its bottom, one per top. Nets need no such layer: a blob may have several
// consumers. It is here for files that Caffe has written.
class SplitLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxTops() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override {
    tops_.assign(param().top_size(), bottoms[0]);
  }
};

}  // namespace gf

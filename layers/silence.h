#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Takes blobs that nobody else consumes, so that they are not outputs of the net.
class SilenceLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxBottoms() const override { return -1; }
  int MinTops() const override { return 0; }
  int MaxTops() const override { return 0; }
  void SetUp(const std::vector<Shape>& bottoms) override { tops_.clear(); }
  bool Differentiable(int bottom) const override { return false; }
};

}  // namespace gf

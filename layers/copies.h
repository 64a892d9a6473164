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

// Gives the axes [axis, axis + num_axes) of its bottom other extents; 0 keeps an extent, one
// -1 is inferred. num_axes = -1: all axes from `axis` on. A negative axis counts from behind
// the last axis, so that -1 inserts axes at the end.
class ReshapeLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
};

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

#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Merges the axes from `axis` to `end_axis` (inclusive) into one.
class FlattenLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
};

// Replaces the extents of the axes [axis, axis + num_axes) of its bottom. The new extent 0 keeps
// the old one; one extent may be -1 and is inferred. num_axes = -1 means all axes from `axis` on. A
// negative axis counts from one past the last axis, so -1 inserts axes at the end.
class ReshapeLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
};

// Copies its bottom to every top. Nets do not need this layer, because a blob may have several
// consumers; net files written by Caffe contain it.
class SplitLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxTops() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override;
};

// Consumes blobs that no other layer reads, so that they do not become outputs of the net.
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

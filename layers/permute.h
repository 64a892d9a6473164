#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// How the elements of a plain tensor with the extents `dims` are reordered: axis i of the result,
// which is plain too, is axis order[i] of `dims`.
struct AxisOrder {
  std::vector<int64_t> dims;
  std::vector<int> order;
};

// The same permutation with as few axes as possible.
AxisOrder Simplified(const AxisOrder& permutation);
// The permutation that undoes it.
AxisOrder Inverse(const AxisOrder& permutation);
// By axis of the result: the extents, and the strides in the tensor that it comes from.
std::vector<int64_t> ResultDims(const AxisOrder& permutation);
std::vector<int64_t> SourceStrides(const AxisOrder& permutation);

// A layer whose top has the elements of its bottom in another order.
class PermutingLayer : public Layer {
 public:
  using Layer::Layer;
  // Whether View knows tensors whose channels are the innermost axis in memory.
  virtual bool TakesChannelsLast() const { return false; }
  // The order that the layer gives a bottom of this shape, simplified.
  virtual AxisOrder View(const Shape& bottom, bool channels_last) const = 0;
};

// Axis i of the top is axis order[i] of the bottom; axes that are not named follow in their order.
class PermuteLayer : public PermutingLayer {
 public:
  using PermutingLayer::PermutingLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  AxisOrder View(const Shape& bottom, bool channels_last) const override;

  // Axis i of the top is axis order()[i] of the bottom, for all axes.
  const std::vector<int>& order() const { return order_; }

 private:
  std::vector<int> order_;
};

// Channel i * (C / group) + j becomes channel j * group + i: every group of channels gets some of
// each of the former groups. X. Zhang et al., "ShuffleNet", CVPR 2018, figure 1.
class ShuffleChannelLayer : public PermutingLayer {
 public:
  using PermutingLayer::PermutingLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool TakesChannelsLast() const override { return true; }
  AxisOrder View(const Shape& bottom, bool channels_last) const override;
};

}  // namespace gf

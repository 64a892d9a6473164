#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

// Reduces all axes from `axis` on to one number: coeff times the sum of the numbers, of their
// absolute values or of their squares, or coeff times their mean. Top: the shape of the axes before
// `axis`; {1} if there are none. With a loss_weight the layer is a loss and its top FP32. Every
// image of the batch counts.
class ReductionLayer : public Layer {
 public:
  // A row is reduced in parts of this length, whose sums are added up then.
  static constexpr int64_t kPart = 1 << 14;

  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;
  DType TopType(int top, DType compute) const override {
    return LossWeight(top) != 0 ? DType::kFP32 : compute;
  }
  bool CanBeLoss() const override { return true; }

  int axis() const { return axis_; }
  // The bottom is rows() rows of inner() numbers, in parts() parts each.
  int64_t rows() const { return rows_; }
  int64_t inner() const { return inner_; }
  int64_t parts() const { return (inner_ + kPart - 1) / kPart; }

  // What is summed: absolute values, squares, or the numbers themselves.
  bool absolute() const;
  bool squared() const;
  // Factor of the sum.
  double factor() const;
  // Whether the gradient depends on the bottom.
  bool needs_bottom() const { return absolute() || squared(); }

 private:
  int axis_ = 0;
  int64_t rows_ = 1, inner_ = 1;
};

}  // namespace gf

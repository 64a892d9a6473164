#pragma once

#include <vector>

#include "layers/class_axis.h"
#include "layers/loss.h"

namespace gf {

// Cross entropy between softmax(bottom 0) and the labels (bottom 1, INT64), summed over the
// predictions and divided by Normalizer. The target of a prediction is (1 - label_smoothing) *
// one_hot + label_smoothing / classes. Top 0: the loss, one FP32 number. Top 1, optional: the
// probabilities; no gradient flows through them.
class SoftmaxWithLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  int MaxTops() const override { return 2; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool Differentiable(int bottom) const override { return bottom == 0; }

  const ClassAxis& view() const { return view_; }
  bool has_ignored() const;
  int64_t ignored() const;
  bool Ignored(int64_t label) const { return has_ignored() && label == ignored(); }
  float label_smoothing() const;
  // Divisor of the sum over the predictions, at least 1. `counted` is the number of predictions
  // that are not ignored, in `samples` samples.
  double Normalizer(int64_t counted, int64_t samples) const;

 protected:
  // SetUp for scores whose axis `axis` holds the classes.
  void SetUpScores(const std::vector<Shape>& bottoms, int axis);

 private:
  ClassAxis view_;
};

}  // namespace gf

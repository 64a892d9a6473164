#pragma once

#include <vector>

#include "layers/class_axis.h"
#include "layers/loss.h"

namespace gf {

// Cross entropy between softmax(bottom 0) and the labels (bottom 1, INT64), summed over the
// predictions and divided by Normalizer. The target t of a prediction is (1 - label_smoothing) *
// one_hot + label_smoothing / classes, and its loss is -sum over the classes k of w[k] * t[k] *
// log(p[k]), where w are the class weights, 1 in phase TEST and without loss_param.class_weight.
// Top 0: the loss, one FP32 number. Top 1, optional: the probabilities; no gradient flows through
// them.
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
  // Phase TRAIN: one per class, or none.
  const std::vector<float>& class_weights() const { return class_weights_; }
  double sum_of_class_weights() const { return sum_of_class_weights_; }
  // Divisor of the sum over the predictions of the first `samples` samples, more than 0. `labels`:
  // host memory. Fails for a label out of range. Mixed batches need no more: each label is once an
  // image's own and once its partner's, so the sums of weights are equal.
  double Normalizer(const int64_t* labels, int64_t samples) const;

 protected:
  // SetUp for scores whose axis `axis` holds the classes.
  void SetUpScores(const std::vector<Shape>& bottoms, int axis);

 private:
  void TakeClassWeights(const Shape& scores);

  ClassAxis view_;
  std::vector<float> class_weights_;
  double sum_of_class_weights_ = 0;
};

}  // namespace gf

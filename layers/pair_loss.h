#pragma once

#include <vector>

#include "layers/loss.h"

namespace gf {

// A sum over pairs of numbers of bottoms 0 and 1, divided by Normalizer. The bottoms have the same
// number of samples, and of numbers per sample. Top: the loss, one FP32 number.
//   EuclideanLoss            (a - b)^2 / 2
//   SigmoidCrossEntropyLoss  log(1 + exp(x)) - x * target: the cross entropy between sigmoid(x) of
//                            bottom 0 and the targets (bottom 1, 0 to 1)
class PairLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool is_euclidean() const { return type() == "EuclideanLoss"; }
  // A target that does not count; SigmoidCrossEntropyLoss only.
  bool has_ignored() const;
  float ignored() const;

  // Samples of the bottoms, and numbers of a sample.
  int64_t samples() const { return samples_; }
  int64_t inner() const { return inner_; }
  // Divisor of the sum, at least 1, where `counted` pairs of `samples` samples count. By default
  // the samples.
  double Normalizer(int64_t counted, int64_t samples) const;

 private:
  int64_t samples_ = 0, inner_ = 0;
};

}  // namespace gf

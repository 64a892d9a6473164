#pragma once

#include <vector>

#include "layers/layer.h"

namespace gf {

enum LossParameter_NormalizationMode : int;

// What a loss adds up.
struct LossCounts {
  int64_t all = 0;      // predictions
  int64_t counted = 0;  // predictions that are not ignored
  int64_t samples = 0;
};

// A layer whose top 0 is a loss: one FP32 number, by default of weight 1 in the objective. The
// images that only fill up a batch do not count.
class LossLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return 2; }
  int MaxBottoms() const override { return 2; }
  DType TopType(int top, DType compute) const override { return top == 0 ? DType::kFP32 : compute; }
  float LossWeight(int top) const override;

 protected:
  // Divisor of the sum of losses, at least 1, as loss_param says. `mode`: if it says nothing.
  double Divisor(const LossCounts& counts, LossParameter_NormalizationMode mode) const;
  // Fail for fields of loss_param that do not go with the layer's type.
  void RefuseNormalization() const;
  void RefuseLabelSmoothing() const;
  // Fails unless both have the same number of samples, and of numbers per sample.
  void CheckPair(const Shape& a, const Shape& b) const;
};

}  // namespace gf

#pragma once

#include <optional>
#include <vector>

#include "layers/layer.h"

namespace gf {

enum LossParameter_NormalizationMode : int;

// What a loss adds up.
struct LossCounts {
  int64_t all = 0;      // predictions
  int64_t counted = 0;  // predictions that are not ignored
  int64_t samples = 0;
  // Sum of the class weights of the counted predictions; replaces their number.
  std::optional<double> weight = std::nullopt;
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
  // Divisor of the sum of losses as loss_param says; 1 if it would be 0. `mode`: if loss_param says
  // nothing.
  double Divisor(const LossCounts& counts, LossParameter_NormalizationMode mode) const;
  // Fail for fields of loss_param that do not go with the layer's type.
  void RefuseNormalization() const;
  void RefuseOtherTargets() const;  // label_smoothing and class_weight
  // Fails unless both have the same number of samples, and of numbers per sample.
  void CheckPair(const Shape& a, const Shape& b) const;
};

}  // namespace gf

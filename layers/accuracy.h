#pragma once

#include <vector>

#include "layers/class_axis.h"
#include "layers/layer.h"

namespace gf {

// The fraction of predictions whose label is among the top_k scores (bottom 0: scores, bottom 1:
// INT64 labels). Among equal scores the lower class ranks higher, so top_k 1 agrees with argmax. A
// NaN score ranks above all others, and a label whose score is NaN is never right. Top 0: one FP32
// number. Top 1, optional: the fraction per class, 0 for classes without samples.
class AccuracyLayer : public Layer {
 public:
  using Layer::Layer;
  int MinBottoms() const override { return 2; }
  int MaxBottoms() const override { return 2; }
  int MaxTops() const override { return 2; }
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool Differentiable(int bottom) const override { return false; }
  DType TopType(int top, DType compute) const override { return DType::kFP32; }

  const ClassAxis& view() const { return view_; }
  int64_t top_k() const;
  bool Ignored(int64_t label) const;

 private:
  ClassAxis view_;
};

}  // namespace gf

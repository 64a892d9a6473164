#pragma once

#include <vector>

#include "layers/layer.h"
#include "layers/ranking.h"

namespace gf {

// The indices of the top_k highest numbers, the highest first: of each sample, or along `axis`
// where it is given. Among equal numbers the lower index ranks higher, and NaN ranks above all
// others, as for Accuracy. No gradient flows. Top, always FP32:
//   without axis  N x 1 x top_k indices; with out_max_val N x 2 x top_k, the indices and then the
//                 numbers. It has as many axes as the bottom if these are more.
//   with axis     the bottom's shape, with top_k in place of the extent of that axis: the indices,
//                 or with out_max_val the numbers.
class ArgMaxLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool Differentiable(int bottom) const override { return false; }
  DType TopType(int top, DType compute) const override { return DType::kFP32; }

  const Ranking& ranking() const { return ranking_; }

 private:
  Ranking ranking_;
};

}  // namespace gf

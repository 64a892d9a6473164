#pragma once

#include <vector>

#include "layers/softmax_with_loss.h"

namespace gf {

// Cross entropy between softmax(bottom 0) and rows of a matrix H of classes x classes, which the
// labels (bottom 1, INT64) select:
//   -sum over the predictions n and classes k of H[label_n][k] * log(max(p_nk, 1e-20)),
// divided by Normalizer. The gradient is that without the bound of p, as in Caffe. H is bottom 2,
// to which no gradient flows, or is read from infogain_loss_param.source. With H = 1 on the
// diagonal and 0 elsewhere the loss is that of SoftmaxWithLoss. Tops are those of SoftmaxWithLoss.
class InfogainLossLayer : public SoftmaxWithLossLayer {
 public:
  using SoftmaxWithLossLayer::SoftmaxWithLossLayer;
  int MaxBottoms() const override { return 3; }
  // Also throws UserError if the file cannot be read or its matrix does not fit.
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool WantsLabels(int bottom) const override { return bottom == 1; }

  // H by rows, from the file; empty if it is bottom 2.
  const std::vector<float>& matrix() const { return matrix_; }

 private:
  std::vector<float> matrix_;
};

// log(1e-20), the least logarithm of a probability that counts.
constexpr float kInfogainLeastLog = -46.0517019f;

}  // namespace gf

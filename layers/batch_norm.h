#pragma once

#include "layers/layer.h"

namespace gf {

// Batch normalization (Ioffe and Szegedy, 2015) over N and the spatial axes of N x C x ...:
//   y = gamma * (x - mean) / sqrt(variance + eps) + beta
// In phase TRAIN (unless use_global_stats) mean and biased variance come from the batch. The
// running statistics are then updated by running = f * running + (1 - f) * batch, where f =
// moving_average_fraction and the batch's variance is unbiased. Phase TEST normalizes with the
// running statistics.
//
// With fusion.scale the layer has the parameters weight (gamma) and, with scale_bias, bias (beta).
// Without fusion.scale, gamma is 1 and beta 0 (Caffe's bare BatchNorm). With fusion.add, a second
// bottom of the same shape is added to y; with fusion.relu, the result is then clipped at 0.
class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;

  int MinBottoms() const override { return add() ? 2 : 1; }
  int MaxBottoms() const override { return MinBottoms(); }
  void SetUp(const std::vector<Shape>& bottoms) override;

  bool scale() const;
  bool scale_bias() const;
  bool add() const;
  bool relu() const;
  // Whether the layer normalizes with the running statistics instead of the batch's statistics.
  bool global_statistics() const;
  float eps() const;
  float fraction() const;
};

}  // namespace gf

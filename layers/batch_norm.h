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
// bottom of the same shape is added to y; with fusion.relu, the result is then clipped at 0. With
// fusion.sums the last bottom [2, C] has the sums of x and of its squares, in FP32.
class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;

  int MinBottoms() const override { return 1 + add() + normalized_add() + sums(); }
  int MaxBottoms() const override { return MinBottoms(); }
  void SetUp(const std::vector<Shape>& bottoms) override;
  std::string declared_type() const override { return "BatchNorm"; }
  bool Differentiable(int bottom) const override { return bottom < 1 + add() + normalized_add(); }
  bool WantsLabels(int bottom) const override { return false; }
  DType BottomType(int bottom, DType compute) const override {
    return bottom < 1 + add() ? compute : DType::kFP32;
  }

  bool scale() const;
  bool scale_bias() const;
  bool add() const;
  bool relu() const;
  bool sums() const;
  // Whether the second bottom is normalized before it is added (BatchNormPairLayer).
  virtual bool normalized_add() const { return false; }
  // Whether the layer normalizes with the running statistics instead of the batch's statistics.
  bool global_statistics() const;
  float eps() const;
  float fraction() const;
};

// Fusion creates the layers below (models/fuse_batch_norms.h): two BatchNorms whose results are
// added.

// The numbers with which a BatchNorm of the same declaration would normalize its bottom in phase
// TRAIN: the top [4, C], in FP32, has the rows mean, 1 / deviation, scale and offset. No gradient
// flows to the bottom: the pair, which reads the top, computes that, too.
class BatchNormChannelsLayer : public BatchNormLayer {
 public:
  using BatchNormLayer::BatchNormLayer;

  static constexpr int kRows = 4;
  void SetUp(const std::vector<Shape>& bottoms) override;
  bool Differentiable(int bottom) const override { return false; }
  DType TopType(int top, DType compute) const override { return DType::kFP32; }
};

// A BatchNorm with fusion.add that normalizes its second bottom z before it adds it: the third
// bottom is the top of a BatchNormChannels of z. The gradient of that bottom has the rows sum(dy)
// and sum(dy * (z - mean)) in [4, C]; the other two mean nothing. The gradient of z is complete.
class BatchNormPairLayer : public BatchNormLayer {
 public:
  using BatchNormLayer::BatchNormLayer;

  bool normalized_add() const override { return true; }
};

}  // namespace gf

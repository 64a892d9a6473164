#pragma once

#include "layers/batch_norm.h"
#include "layers/window.h"

namespace gf {

class PoolingParameter;

// A BatchNorm, with fusion.relu followed by a ReLU, and the maximum pooling of its result. Fusion
// creates these layers (models/fuse_batch_norms.h). The windows are square, with one stride.
class BatchNormPoolingLayer : public BatchNormLayer {
 public:
  using BatchNormLayer::BatchNormLayer;

  // Whether there are kernels for these windows and this number of channels.
  static bool Fits(const PoolingParameter& pooling, int64_t channels);
  void SetUp(const std::vector<Shape>& bottoms) override;
  const Window& window() const { return window_; }

 private:
  Window window_;
};

}  // namespace gf

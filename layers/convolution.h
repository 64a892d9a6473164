#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace gf {

// Convolution of N x C x H x W with num_output filters; as in Caffe, filters are not flipped (a
// cross-correlation). Parameters: weight [O, C / group, KH, KW] and, with bias_term, bias [O].
class ConvolutionLayer : public Layer {
 public:
  using Layer::Layer;

  void SetUp(const std::vector<Shape>& bottoms) override;
  int64_t ForwardFlops() const override;

  const Window& window() const { return window_; }
  int64_t groups() const { return groups_; }
  bool bias() const { return parameters_.size() > 1; }
  bool relu() const;
  // Whether Backward must apply the gradient of the fused ReLU.
  bool relu_backward() const;

 private:
  Window window_;
  int64_t groups_ = 1;
};

}  // namespace gf

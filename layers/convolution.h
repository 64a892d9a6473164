#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace gf {

// Convolution of N x C x H x W with num_output filters; as in Caffe, filters are not flipped (a
// cross-correlation). Parameters: weight [O, C / group, KH, KW] and, with bias_term, bias [O].
// With fusion.sums a second top [2, O] has the sums of the results and of their squares, in FP32.
//
// Note [Images and results]
// Kernels have three passes: results of filters on images, the gradient of the images, and the
// gradient of the filters. A Convolution has its images in the bottom and its results in the top. A
// transposed one (DeconvolutionLayer) has its images in the top and its results in the bottom: it
// computes its top as a gradient of images, and the gradient of its bottom as results.
class ConvolutionLayer : public Layer {
 public:
  using Layer::Layer;

  int MinTops() const override { return sums() ? 2 : 1; }
  int MaxTops() const override { return MinTops(); }
  void SetUp(const std::vector<Shape>& bottoms) override;
  int64_t ForwardFlops() const override;
  DType TopType(int top, DType compute) const override;

  // See Note [Images and results].
  virtual bool transposed() const { return false; }

  const Window& window() const { return window_; }
  int64_t groups() const { return groups_; }
  bool bias() const { return parameters_.size() > 1; }
  bool relu() const;
  bool sums() const;
  // Whether Backward must apply the gradient of the fused ReLU.
  bool relu_backward() const;

 protected:
  // Height (axis 0) or width (axis 1) of the top. Fails if it would not be positive.
  virtual int64_t TopExtent(int axis, int64_t bottom) const;

 private:
  void ReadWindow();

  Window window_;
  int64_t groups_ = 1;
  Shape results_;
};

}  // namespace gf

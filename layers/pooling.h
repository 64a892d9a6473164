#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace gf {

// Maximum or average over a sliding window, as Caffe defines it: the output size is rounded up
// unless round_mode is FLOOR; the last window starts inside the image or its left padding; an
// average divides by the part of the window inside the padded image, padding included.
class PoolingLayer : public Layer {
 public:
  using Layer::Layer;

  void SetUp(const std::vector<Shape>& bottoms) override;

  const Window& window() const { return window_; }
  bool max() const { return param().pooling_param().pool() == PoolingParameter::MAX; }
  // Backward also applies the gradient of the ReLU that made the bottom: where the top is not
  // positive nothing flows back. Only for max(), where top > 0 exactly if the chosen input is.
  bool relu_backward() const { return param().fusion().relu_backward(); }

 private:
  Window window_;
};

}  // namespace gf

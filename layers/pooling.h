#pragma once

#include "layers/layer.h"
#include "layers/window.h"

namespace gf {

// Maximum or average over a sliding window, as Caffe defines it. The output size is rounded up
// unless round_mode is FLOOR. The last window starts inside the image or its left padding. An
// average divides by the size of the window's part inside the padded image, padding included.
class PoolingLayer : public Layer {
 public:
  using Layer::Layer;

  void SetUp(const std::vector<Shape>& bottoms) override;

  const Window& window() const { return window_; }
  bool max() const;
  // Whether Backward also applies the gradient of the ReLU that produced the bottom: no gradient
  // flows back where the top is not positive. Only with max(): there the top is positive exactly if
  // the selected input is.
  bool relu_backward() const;

 private:
  Window window_;
};

}  // namespace gf

#pragma once

#include "layers/convolution.h"

namespace gf {

// The transposed of a convolution: each pixel of the bottom N x C x H x W adds its multiples of
// filters to a window of the top, which has num_output channels. An extent of the top is
// stride * (in - 1) + dilation * (kernel - 1) + 1 - 2 * pad. Parameters: weight
// [C, num_output / group, KH, KW] and, with bias_term, bias [num_output].
class DeconvolutionLayer : public ConvolutionLayer {
 public:
  using ConvolutionLayer::ConvolutionLayer;

  bool transposed() const override { return true; }

 protected:
  int64_t TopExtent(int axis, int64_t bottom) const override;
};

}  // namespace gf

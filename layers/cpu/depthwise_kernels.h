#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// A depthwise convolution of one plane: the pixels of 16, 8 or 1 neighboring channels (lanes) of
// one image, which lie side by side, with one filter per lane. Index 0: height, 1: width. x:
// images, y: results.
struct DepthwisePlane {
  int lanes = 1;
  int64_t in[2] = {}, out[2] = {};  // sizes of x and y
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t x_step = 1, y_step = 1;  // elements from pixel to pixel of x and of y
};

// T is float or uint16_t (BF16). Filters w [taps][lanes], biases [lanes], their gradients and all
// sums are FP32. The order of sums depends on the plane alone.
template <typename T>
struct DepthwiseFunctions {
  // y = x * w + bias, then a ReLU if `relu`; `bias` may be null.
  void (*forward)(const DepthwisePlane& plane, const T* x, const float* w, const float* bias,
                  bool relu, T* y);
  // Writes the gradient dx.
  void (*backward_data)(const DepthwisePlane& plane, const T* dy, const float* w, T* dx);
  // The same without rounding.
  void (*backward_data_fp32)(const DepthwisePlane& plane, const T* dy, const float* w, float* dx);
};

struct DepthwiseKernels {
  DepthwiseFunctions<float> fp32;
  DepthwiseFunctions<uint16_t> bf16;
};
GF_SIMD_DECLARE(DepthwiseKernels, DepthwiseTable)

// Adds the gradients of filters and biases to dw and, unless it is null, to dbias.
template <typename T>
using DepthwiseWeights = void (*)(const DepthwisePlane& plane, const T* x, const T* dy, float* dw,
                                  float* dbias);

struct DepthwiseWeightsKernels {
  DepthwiseWeights<float> fp32;
  DepthwiseWeights<uint16_t> bf16;
};
GF_SIMD_DECLARE(DepthwiseWeightsKernels, DepthwiseWeightsTable)

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Local response normalization of channels-last images:
//   scale = k + alpha * sum of x^2 over a window;  y = x * scale^-beta
// The window is `size` channels or, within_channel, size x size pixels; size is odd.
struct LrnImages {
  int64_t n = 0;
  int height = 0, width = 0, channels = 0;
  int size = 1;
  bool within_channel = false;
  float alpha = 0, beta = 0, k = 1;  // alpha: already divided by the window's size

  int64_t count() const { return n * height * width * channels; }
};

// `scale` (FP32, [count]) may be null.
void Lrn(const LrnImages& images, DType type, const void* x, void* y, float* scale,
         cudaStream_t stream);
// dx = dy * scale^-beta - 2 * alpha * beta * x * sum over the window of dy * x * scale^(-beta - 1).
// dx must be neither x nor dy.
void LrnGradient(const LrnImages& images, DType type, const void* x, const void* dy,
                 const float* scale, void* dx, cudaStream_t stream);

}  // namespace gf

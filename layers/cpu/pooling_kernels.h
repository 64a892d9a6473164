#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// One plane: the pixels of one block of channels (16, 8 or 1) of one image.
struct PoolingPlane {
  int block = 1;
  int64_t height = 0, width = 0;          // of the bottom
  int64_t out_height = 0, out_width = 0;  // of the top
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0};
};

// T is float or uint16_t (BF16). For each top element, `taps` holds the index (row by row) of the
// largest tap of the window; the first one among equals. Tap is uint8_t, or uint16_t for windows of
// more than 256 taps.
template <typename T, typename Tap>
struct PoolingFunctions {
  // taps may be null (evaluation).
  void (*max_forward)(const PoolingPlane& plane, const T* x, T* y, Tap* taps);
  // dx_sums: scratch memory, FP32 [height][width][block]; unused if T is float. If y is given, only
  // gradients where y > 0 count (the gradient of a ReLU before the pooling).
  void (*max_backward)(const PoolingPlane& plane, const T* dy, const T* y, const Tap* taps,
                       float* dx_sums, T* dx);
  void (*average_forward)(const PoolingPlane& plane, const T* x, T* y);
  void (*average_backward)(const PoolingPlane& plane, const T* dy, float* dx_sums, T* dx);
};

struct PoolingKernels {
  PoolingFunctions<float, uint8_t> fp32;
  PoolingFunctions<float, uint16_t> fp32_large;
  PoolingFunctions<uint16_t, uint8_t> bf16;
  PoolingFunctions<uint16_t, uint16_t> bf16_large;
};
GF_SIMD_DECLARE(PoolingKernels, PoolingTable)

}  // namespace gf

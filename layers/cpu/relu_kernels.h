#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// ReLU on the elements [begin, end) of arrays of one number type. x and y may be the same memory,
// as may dy and dx.
struct ReluFunctions {
  void (*forward)(const void* x, void* y, float slope, int64_t begin, int64_t end);
  // dx = sign > 0 ? dy : slope * dy. `sign` is x, or y if slope >= 0.
  void (*backward)(const void* dy, const void* sign, void* dx, float slope, int64_t begin,
                   int64_t end);
};
struct ReluKernels {
  ReluFunctions fp32, bf16;
};
GF_SIMD_DECLARE(ReluKernels, Relu)

// diff[i] = y[i] > 0 ? diff[i] : 0: the gradient of y = max(0, x), in place.
struct ReluMaskKernels {
  void (*fp32)(const float* y, float* diff, int64_t count);
  void (*bf16)(const uint16_t* y, uint16_t* diff, int64_t count);
};
GF_SIMD_DECLARE(ReluMaskKernels, ReluMask)

}  // namespace gf

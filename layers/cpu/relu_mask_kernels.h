#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// diff[i] = y[i] > 0 ? diff[i] : 0: the gradient of y = max(0, x), in place.
struct ReluMaskKernels {
  void (*fp32)(const float* y, float* diff, int64_t count);
  void (*bf16)(const uint16_t* y, uint16_t* diff, int64_t count);
};
GF_SIMD_DECLARE(ReluMaskKernels, ReluMask)

}  // namespace gf

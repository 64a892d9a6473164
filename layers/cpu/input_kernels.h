#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Pixels (UINT8, [pixels][channels]) to planes: to[c * pixels + i] = (from[i * channels + c] -
// mean[c]) * inverse_std[c].
struct InputKernels {
  void (*fp32)(const uint8_t* from, int64_t pixels, int channels, const float* mean,
               const float* inverse_std, float* to);
  void (*bf16)(const uint8_t* from, int64_t pixels, int channels, const float* mean,
               const float* inverse_std, uint16_t* to);
};
GF_SIMD_DECLARE(InputKernels, InputTable)

}  // namespace gf

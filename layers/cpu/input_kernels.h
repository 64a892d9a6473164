#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Converts pixels (UINT8, [pixels][channels]) to planes that are `plane` elements apart: to[c *
// plane + i] = (from[i * channels + c] - mean[c]) * inverse_std[c]. If `mirrored`, it reads pixel
// pixels - 1 - i instead.
struct InputKernels {
  void (*fp32)(const uint8_t* from, int64_t pixels, int channels, bool mirrored, const float* mean,
               const float* inverse_std, int64_t plane, float* to);
  void (*bf16)(const uint8_t* from, int64_t pixels, int channels, bool mirrored, const float* mean,
               const float* inverse_std, int64_t plane, uint16_t* to);
  // own = share * own + (1 - share) * other
  void (*mix_fp32)(float* own, const float* other, int64_t count, float share);
  void (*mix_bf16)(uint16_t* own, const uint16_t* other, int64_t count, float share);
};
GF_SIMD_DECLARE(InputKernels, InputTable)

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// to[i] = a[i] + b[i]; to may be a.
struct SumKernels {
  void (*fp32)(const float* a, const float* b, float* to, int64_t count);
  void (*bf16)(const uint16_t* a, const uint16_t* b, uint16_t* to, int64_t count);
};
GF_SIMD_DECLARE(SumKernels, SumTable)

}  // namespace gf

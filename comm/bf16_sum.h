#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

struct BF16SumKernels {
  // to[i] = BF16(FP32(to[i]) + FP32(from[i])), rounded to nearest even.
  void (*add)(const uint16_t* from, uint16_t* to, int64_t count);
};
GF_SIMD_DECLARE(BF16SumKernels, BF16Sum)

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/simd.h"
#include "layers/draws.h"

namespace gf {

// Dropout on the elements [begin, end) of arrays of one number type; a part is an element. begin is
// a multiple of 64.
struct DropoutFunctions {
  // y = keep ? scale * x : 0, keep[i] = 1 or 0.
  void (*forward)(const void* x, void* y, uint8_t* keep, float scale, const KeepDraws& draws,
                  int64_t begin, int64_t end);
  // dx = keep ? scale * dy : 0
  void (*backward)(const void* dy, const uint8_t* keep, void* dx, float scale, int64_t begin,
                   int64_t end);
};
struct DropoutKernels {
  DropoutFunctions fp32, bf16;
};
GF_SIMD_DECLARE(DropoutKernels, Dropout)

}  // namespace gf

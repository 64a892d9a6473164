#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The random stream that selects the elements to keep: element i is kept if the upper 24 bits of
// word i % 4 of Philox(key, stream, i / 4) are at least `threshold`.
struct DropoutStream {
  uint64_t key, stream;
  uint32_t threshold;
};

// Dropout on the elements [begin, end) of arrays of one number type; begin is a multiple of 64.
struct DropoutFunctions {
  // y = keep ? scale * x : 0, keep[i] = 1 or 0.
  void (*forward)(const void* x, void* y, uint8_t* keep, float scale, const DropoutStream& random,
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

#pragma once

// Parts of the depthwise kernels, compiled by simd_library.

#include <cstdint>

#include "core/simd_lanes.h"
#include "layers/cpu/depthwise_kernels.h"

namespace gf {

GF_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
GF_INLINE int64_t Max(int64_t a, int64_t b) { return a < b ? b : a; }

struct Range {
  int64_t begin, end;
};

// The j in [0, count) for which inputs j * advance + lowest to j * advance + highest exist.
GF_INLINE Range Inside(int64_t lowest, int64_t highest, int64_t advance, int64_t size,
                       int64_t count) {
  const int64_t begin = lowest < 0 ? (-lowest + advance - 1) / advance : 0;
  const int64_t end = highest < size ? (size - 1 - highest) / advance + 1 : 0;
  const int64_t first = Min(begin, count);
  return {first, Max(first, Min(end, count))};
}

}  // namespace gf

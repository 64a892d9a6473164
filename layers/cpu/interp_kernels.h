#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Weighted sums of neighbors: number i of the result is the sum over k in [begin[i], begin[i + 1])
// of weights[k] * source[first[i] + k - begin[i]].
struct InterpTaps {
  const int32_t *first, *begin;
  const float* weights;
};

// A row of pixels that is made of neighboring rows. Pixels are `stride` elements apart, of which
// `lanes` are processed.
struct InterpRow {
  int64_t stride;
  int lanes;                 // at most kInterpLanes
  int rows;                  // of the source; may be 0
  const float* row_weights;  // of each
  int64_t row_stride;        // elements from one row of the source to the next one
  int64_t width, out_width;  // pixels of a row of the source and of the result
  InterpTaps columns;
};
constexpr int kInterpLanes = 64;

// Writes a row to `to`; `from` is the first row of the source. `sums`: scratch memory of
// [width][lanes] numbers.
using InterpFunction = void (*)(const InterpRow& row, const void* from, float* sums, void* to);

struct InterpKernels {
  InterpFunction fp32, bf16;
};
GF_SIMD_DECLARE(InterpKernels, Interp)

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Products of a large weight matrix W [outputs, inputs] with few rows, where reading or writing W
// dominates the time. Rows are FP32 and come in groups of kThinGroup; missing rows are zeros.
constexpr int64_t kThinGroup = 8;

struct ThinShape {
  int64_t rows = 0;    // a multiple of kThinGroup
  int64_t inputs = 0;  // a multiple of 16
  int64_t stride = 0;  // elements from row to row of x and dx, see ThinStride
};

// A stride that is not a multiple of 4 KiB, so that rows do not compete for the same sets of the
// first-level cache.
static inline int64_t ThinStride(int64_t inputs) { return (inputs + 1023) / 1024 * 1024 + 512; }

// The functions for W in FP32 or BF16; sums are always FP32. x and dx are [rows, stride]; y and dy
// are transposed, [outputs, rows].
template <typename T>
struct ThinFunctions {
  // y[n, m] = sum over k of x[m, k] W[n, k], for n in [begin, end).
  void (*forward)(const ThinShape& shape, const float* x, const T* w, float* y, int64_t begin,
                  int64_t end);
  // dx[m, k] = sum over n < outputs of dy[n, m] W[n, k], for k in [begin, end), multiples of 16.
  void (*backward_data)(const ThinShape& shape, const float* dy, const T* w, float* dx,
                        int64_t outputs, int64_t begin, int64_t end);
  // dw[n, k] = sum over m of dy[n, m] x[m, k], for n in [begin, end); stored past the cache if dw
  // is aligned to 64 bytes.
  void (*backward_weights)(const ThinShape& shape, const float* x, const float* dy, T* dw,
                           int64_t begin, int64_t end);
};

struct ThinKernels {
  ThinFunctions<float> fp32;
  ThinFunctions<uint16_t> bf16;
};
GF_SIMD_DECLARE(ThinKernels, Thin)

}  // namespace gf

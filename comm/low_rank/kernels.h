#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// LOW_RANK's inner loops, on one thread; see Note [Low rank]. A matrix is row-major, with `columns`
// elements per row; factors are [rank][rows] and [rank][columns]. Arrays need not be aligned and do
// not overlap. Results have the same bits on every instruction set.
struct LowRankKernels {
  // left[k * rows + i] = sum over j of m[i][j] * right[k][j], for rows [begin, end).
  void (*project)(const float* m, int64_t rows, int64_t columns, const float* right, int rank,
                  float* left, int64_t begin, int64_t end);
  // right[k][j] = sum over rows i in [begin, end) of m[i][j] * left[k][i].
  void (*correlate)(const float* m, int64_t rows, int64_t columns, const float* left, int rank,
                    float* right, int64_t begin, int64_t end);
  // m[i][j] = sum over k of left[k][i] * right[k][j], in order, for rows [begin, end).
  void (*expand)(float* m, int64_t rows, int64_t columns, const float* left, const float* right,
                 int rank, int64_t begin, int64_t end);
  // m[i][j] -= that sum.
  void (*subtract)(float* m, int64_t rows, int64_t columns, const float* left, const float* right,
                   int rank, int64_t begin, int64_t end);
  // h += g; g = h and h = 0; g = m. Gradients g are float or uint16_t (BF16).
  void (*add_fp32)(const void* g, float* h, int64_t n);
  void (*add_bf16)(const void* g, float* h, int64_t n);
  void (*merge_fp32)(void* g, float* h, int64_t n);
  void (*merge_bf16)(void* g, float* h, int64_t n);
};
GF_SIMD_DECLARE(LowRankKernels, LowRank)

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Two factors of a piece of a matrix, `rank` columns each: element i of column k of the rows'
// factor is rows[k * rows_stride + i].
struct LowRankFactors {
  const float* rows;
  int64_t rows_stride;
  const float* columns;
  int64_t columns_stride;
  int rank;
};

// LOW_RANK's inner loops, on one thread; see Note [Low rank]. m is a row-major piece of a matrix
// whose rows lie one after the other. Arrays need not be aligned and do not overlap. Results have
// the same bits on every instruction set.
struct LowRankKernels {
  // out[k * stride + i] = sum over j of m[i][j] * columns[k][j], a factor of rows.
  void (*times_columns)(const float* m, int64_t rows, int64_t columns,
                        const LowRankFactors& factors, float* out, int64_t stride);
  // Partial sums, for columns a multiple of n = kLowRankLanes: lanes[(k * rows + i) * n + l] += sum
  // over j = l, l + n, ... of m[i][j] * columns[k][j].
  void (*add_times_columns)(const float* m, int64_t rows, int64_t columns,
                            const LowRankFactors& factors, float* lanes);
  // out[k * stride + j] += sum over i of m[i][j] * rows[k][i], a factor of columns; i in order.
  void (*add_times_rows)(const float* m, int64_t rows, int64_t columns,
                         const LowRankFactors& factors, float* out, int64_t stride);
  // m[i][j] = sum over k of rows[k][i] * columns[k][j], in order.
  void (*expand)(float* m, int64_t rows, int64_t columns, const LowRankFactors& factors);
  // m[i][j] -= that sum.
  void (*subtract)(float* m, int64_t rows, int64_t columns, const LowRankFactors& factors);
  // h += g; g = h and h = 0; g = m. Gradients g are float or uint16_t (BF16).
  void (*add_fp32)(const void* g, float* h, int64_t n);
  void (*add_bf16)(const void* g, float* h, int64_t n);
  void (*merge_fp32)(void* g, float* h, int64_t n);
  void (*merge_bf16)(void* g, float* h, int64_t n);
};
GF_SIMD_DECLARE(LowRankKernels, LowRank)

// Partial sums per result of add_times_columns.
constexpr int kLowRankLanes = 16;

}  // namespace gf

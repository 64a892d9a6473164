#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The arrays of one call, all of one number type.
struct EltwiseCall {
  const void* const* bottoms = nullptr;
  int count = 0;                        // number of bottoms
  const float* coefficients = nullptr;  // sum: one per bottom
  bool relu = false;                    // whether a ReLU follows
  void* top = nullptr;
  uint8_t* winners = nullptr;  // maximum: index of the bottom with the maximum; may be null

  // Backward adds up the gradients of the top. A null bottom_diffs[i] is not needed. Each of
  // bottom_diffs may be one of top_diffs.
  const void* const* top_diffs = nullptr;
  int top_diff_count = 0;
  void* const* bottom_diffs = nullptr;
};

// Computes the elements [begin, end).
using EltwiseFunction = void (*)(const EltwiseCall& call, int64_t begin, int64_t end);
struct EltwiseFunctions {
  EltwiseFunction sum, product, maximum;
  EltwiseFunction sum_backward, product_backward, maximum_backward;
};
struct EltwiseKernels {
  EltwiseFunctions fp32, bf16;
};
GF_SIMD_DECLARE(EltwiseKernels, Eltwise)

// to[i] = a[i] + b[i] for arrays of one number type; to may be a.
struct SumKernels {
  void (*fp32)(const float* a, const float* b, float* to, int64_t count);
  void (*bf16)(const uint16_t* a, const uint16_t* b, uint16_t* to, int64_t count);
};
GF_SIMD_DECLARE(SumKernels, SumTable)

}  // namespace gf

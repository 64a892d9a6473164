#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The functions for one number type. A row is [spatial][block] elements with one gamma and beta per
// lane of the block.
struct ScaleFunctions {
  // y = gamma * x + beta; y may be x.
  void (*forward)(const void* x, void* y, const float* gamma, const float* beta, int64_t spatial,
                  int64_t block);
  // y = gamma * x + addend.
  void (*forward_add)(const void* x, const void* addend, void* y, const float* gamma,
                      int64_t spatial, int64_t block);
  // dx = gamma * dy (dx may be dy, or null if not needed), dgamma = sum of dy * x, dbeta = sum of
  // dy. Covers `rows` rows that are row_stride elements apart and the first `lanes` <= kScaleLanes
  // lanes from each pointer on.
  void (*backward)(const void* x, const void* dy, void* dx, const float* gamma, int64_t rows,
                   int64_t row_stride, int64_t spatial, int64_t block, int lanes, double* dgamma,
                   double* dbeta);
};
constexpr int kScaleLanes = 16;

struct ScaleKernels {
  ScaleFunctions fp32, bf16;
};
GF_SIMD_DECLARE(ScaleKernels, Scale)
// The same with gamma 1 wherever x is not negative; beta must be 0, and there is no forward_add.
GF_SIMD_DECLARE(ScaleKernels, Prelu)

}  // namespace gf

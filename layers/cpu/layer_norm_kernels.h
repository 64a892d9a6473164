#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// `width` neighboring rows: number c of row j is at c * stride + j. The stride is 1 for a row of
// contiguous numbers, which is alone.
struct LayerNormSpan {
  int64_t channels, stride;
  int width;  // at most kLayerNormWidth
};
constexpr int kLayerNormWidth = 64;

// The functions for numbers of one type. The arrays mean, variance and inverse_std have a number
// per row of the span; gamma and beta have one per channel.
struct LayerNormFunctions {
  // Mean and biased variance. Sums of a few numbers are FP32, sums of these sums double.
  void (*moments)(const LayerNormSpan& span, const void* x, float* mean, float* variance);
  // y = gamma * (x - mean) * inverse_std + beta; y may be x.
  void (*normalize)(const LayerNormSpan& span, const void* x, const float* mean,
                    const float* inverse_std, const float* gamma, const float* beta, void* y);
  // Adds the sums over the rows of dy * (x - mean) * inverse_std to dgamma, and of dy to dbeta;
  // both may be null. dx may be null or dy.
  void (*backward)(const LayerNormSpan& span, const void* x, const void* dy, const float* mean,
                   const float* inverse_std, const float* gamma, float* dgamma, float* dbeta,
                   void* dx);
};

struct LayerNormKernels {
  LayerNormFunctions fp32, bf16;
};
GF_SIMD_DECLARE(LayerNormKernels, LayerNorm)

}  // namespace gf

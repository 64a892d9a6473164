#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// `width` neighboring softmaxes: class c of softmax j is at c * stride + j. Arithmetic is FP32; a
// NaN among the scores makes the sum NaN.
struct SoftmaxSpan {
  int64_t classes, stride;
  int width;  // at most kSoftmaxWidth
};
constexpr int kSoftmaxWidth = 64;

// Sums over the scores x of each softmax.
struct SoftmaxSums {
  float max[kSoftmaxWidth];      // of x
  float sum[kSoftmaxWidth];      // of exp(x - max)
  float deficit[kSoftmaxWidth];  // of max - x, times the weight of the class
};

// The functions for scores of one number type.
struct SoftmaxFunctions {
  // `weights`: one per class; null: all are 1.
  void (*sums)(const SoftmaxSpan& span, const void* x, const float* weights, SoftmaxSums* sums);
  // y = exp(x - max) / sum, in the type of x or in FP32; y may be x.
  void (*normalize)(const SoftmaxSpan& span, const void* x, const SoftmaxSums& sums, void* y);
  void (*normalize_fp32)(const SoftmaxSpan& span, const void* x, const SoftmaxSums& sums, float* y);
  // dx = y * (dy - sum of dy * y); dx may be dy.
  void (*backward)(const SoftmaxSpan& span, const void* y, const void* dy, void* dx);
  // dx = factor[j] * (p - target)
  void (*loss_backward)(const SoftmaxSpan& span, const float* p, const float* factor, float target,
                        void* dx);
  // dx = factor[j] * p - target[j] * weights[class]
  void (*weighted_loss_backward)(const SoftmaxSpan& span, const float* p, const float* factor,
                                 const float* target, const float* weights, void* dx);
};
struct SoftmaxKernels {
  SoftmaxFunctions fp32, bf16;
};
GF_SIMD_DECLARE(SoftmaxKernels, Softmax)

}  // namespace gf

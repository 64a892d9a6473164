#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// LRN within a channel: one image of one channel, height x width.
struct LrnWindow {
  int64_t height, width, size;
  float alpha, beta;
};

// The functions for one number type. `scratch` has 4 * height * width elements.
struct LrnFunctions {
  // scale = 1 + alpha / size^2 * sum of x^2 over the surrounding window; y = x * scale^-beta.
  void (*forward)(const LrnWindow& window, const void* x, void* y, float* scale, float* scratch);
  // dx = dy * scale^-beta
  //      - 2 * alpha * beta / size^2 * x * sum over the window of dy * x * scale^(-beta - 1)
  // dx may be dy.
  void (*backward)(const LrnWindow& window, const void* x, const void* dy, const float* scale,
                   void* dx, float* scratch);
};
struct LrnKernels {
  LrnFunctions fp32, bf16;
};
GF_SIMD_DECLARE(LrnKernels, Lrn)

}  // namespace gf

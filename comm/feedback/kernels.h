#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Rounds n gradients g (FP32) for the wire, with their residuals h (FP32): y = g + h rounded to
// nearest even, h = g + h - y, g = y. Where y is not finite, h = 0. Arrays need not be aligned and
// do not overlap. Results have the same bits on every instruction set.
struct FeedbackKernels {
  void (*bf16)(float* g, float* h, int64_t n);
  void (*fp16)(float* g, float* h, int64_t n);
};
GF_SIMD_DECLARE(FeedbackKernels, Feedback)

}  // namespace gf

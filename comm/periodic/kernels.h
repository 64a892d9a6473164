#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The inner loops of OuterArithmetic, on n elements and one thread. Arrays need not be aligned and
// do not overlap. `scale` is 1 / world. Results have the same bits on every instruction set.
struct OuterKernels {
  // d = a - w
  void (*subtract)(const float* a, const float* w, float* d, int64_t n);
  // w = a = a - rate * (scale * d)
  void (*step)(const float* d, float* a, float* w, int64_t n, float scale, float rate);
  // With e = scale * d: v = momentum * v + e; w = a = a - rate * (momentum * v + e)
  void (*step_with_momentum)(const float* d, float* v, float* a, float* w, int64_t n, float scale,
                             float rate, float momentum);
};
GF_SIMD_DECLARE(OuterKernels, Outer)

}  // namespace gf

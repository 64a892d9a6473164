#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// GELU, x * Phi(x) with the normal distribution's Phi, on the elements [begin, end) of arrays of
// one number type. x and y may be the same memory, as may dy and dx.
struct GeluFunctions {
  void (*forward)(const void* x, void* y, int64_t begin, int64_t end);
  void (*backward)(const void* x, const void* dy, void* dx, int64_t begin, int64_t end);
};
struct GeluKernels {
  GeluFunctions fp32, bf16;
};
GF_SIMD_DECLARE(GeluKernels, GeluTable)

}  // namespace gf

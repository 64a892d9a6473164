#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// QUANTIZED's inner loops over a block of 256 values x (FP32), on one thread; see Note [Quantized].
// Gradients `g` are float or uint16_t (BF16). Arrays need not be aligned and do not overlap.
// Results have the same bits on every instruction set.
struct QuantizedPoolFunctions {
  // x = g + h for n elements, 0 behind them.
  void (*merge)(const void* g, const float* h, float* x, int64_t n);
  // g = x for n elements.
  void (*store)(const float* x, void* g, int64_t n);
};
struct QuantizedCodeFunctions {
  // Writes the codes of x and returns its scale.
  float (*encode)(const float* x, uint8_t* codes);
  // x = scale * codes
  void (*decode)(float scale, const uint8_t* codes, float* x);
  // x += scale * codes, rounded twice
  void (*add)(float scale, const uint8_t* codes, float* x);
};
struct QuantizedKernels {
  QuantizedPoolFunctions fp32, bf16;  // type of g
  QuantizedCodeFunctions bits8, bits4;
  // The rotation of Note [Rotation], of the block that begins with element `begin`, and its
  // inverse.
  void (*rotate)(float* x, int64_t begin);
  void (*unrotate)(float* x, int64_t begin);
  // x -= y
  void (*subtract)(const float* y, float* x);
  // h = rest, or h += rest with `more`, for n elements; 0 where that is below kLeastKept.
  void (*keep)(const float* rest, float* h, int64_t n, bool more);
};
GF_SIMD_DECLARE(QuantizedKernels, Quantized)

}  // namespace gf

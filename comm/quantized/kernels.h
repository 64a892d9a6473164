#pragma once

#include <cstdint>

#include "comm/quantized/quantized_buckets.h"
#include "core/simd.h"

namespace gf {

// QUANTIZED's inner loops over a block, on one thread; see Note [Quantized]. `g` and `h` are the
// block's gradients, float or uint16_t (BF16), and residuals; sums are FP32 and 256 long, zeros
// behind the block's elements. `rotate`: whether full blocks are rotated, see Note [Rotation].
// Arrays need not be aligned and do not overlap. Results have the same bits on every instruction
// set.
struct QuantizedBlockFunctions {
  // Writes the codes of g + h and returns their scale; h becomes what the codes lack. Where the
  // scale is NaN, h only loses what is not finite.
  float (*encode)(const QuantizedBlock& block, bool rotate, const void* g, float* h,
                  uint8_t* codes);
  // g = scale * codes, rotated back
  void (*decode)(const QuantizedBlock& block, bool rotate, float scale, const uint8_t* codes,
                 void* g);
};
struct QuantizedSumFunctions {
  // sum += scale * codes, rounded twice
  void (*add)(float scale, const uint8_t* codes, float* sum);
  // Writes the codes of the sum and returns their scale.
  float (*encode)(const float* sum, uint8_t* codes);
  // h += sum - scale * codes, rotated back
  void (*keep)(const QuantizedBlock& block, bool rotate, const float* sum, float scale,
               const uint8_t* codes, float* h);
};
struct QuantizedKernels {
  struct OfType {
    QuantizedBlockFunctions bits8, bits4;
  } fp32, bf16;  // type of g
  QuantizedSumFunctions sum8, sum4;
};
GF_SIMD_DECLARE(QuantizedKernels, Quantized)

}  // namespace gf

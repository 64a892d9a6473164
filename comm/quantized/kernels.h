#pragma once

#include <cstdint>

#include "comm/quantized/quantized_buckets.h"
#include "core/simd.h"

namespace gf {

// QUANTIZED's inner loops over a block, on one thread; see Note [Quantized]. `g` and `h` are the
// block's gradients, float or uint16_t (BF16), and residuals. `rotate`: whether full blocks are
// rotated, see Note [Rotation]. Arrays need not be aligned and do not overlap. Results have the
// same bits on every instruction set.
struct QuantizedBlockFunctions {
  // Writes the codes of g + h and returns their scale; h becomes the rounding error. If the scale
  // is NaN, h keeps its finite values, and the others become 0.
  float (*encode)(const QuantizedBlock& block, bool rotate, const void* g, float* h,
                  uint8_t* codes);
  // g = scale * codes, rotated back
  void (*decode)(const QuantizedBlock& block, bool rotate, float scale, const uint8_t* codes,
                 void* g);
};
// A block in the vectors of `count` ranks, whose sum is x = 0 + y_0 + y_1 + ..., y_r = scale *
// codes.
struct QuantizedTerms {
  const float* scale;    // of rank 0
  const uint8_t* codes;  // of rank 0
  int64_t words;         // 4-byte words from a rank to the next one
  int count;
};
struct QuantizedSumFunctions {
  // Writes the codes of the sum and returns their scale.
  float (*encode)(const QuantizedTerms& terms, uint8_t* codes);
  // h += sum - scale * codes, rotated back
  void (*keep)(const QuantizedBlock& block, bool rotate, const QuantizedTerms& terms, float scale,
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

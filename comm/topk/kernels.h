#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// at_least and within may write this many elements behind their last result.
constexpr int kTopkSlack = 16;

// TOPK's inner loops over n elements, on one thread; see Note [Top-k]. Gradients `g` are float or
// uint16_t (BF16). Arrays need not be aligned and do not overlap. Results have the same bits on
// every instruction set.
struct TopkFunctions {
  // u = momentum * u + scale * g; h += nesterov ? momentum * u + scale * g : u. Without a velocity
  // (u is null) h += scale * g.
  void (*accumulate)(const void* g, float* u, float* h, int64_t n, float scale, float momentum,
                     bool nesterov);
  // The sum of squares of g: FP32 partial sums of at most 128 elements, added in double.
  double (*squares)(const void* g, int64_t n);
  // g[places[i]] += values[i]; no place comes twice.
  void (*add_at)(void* g, const uint16_t* places, const float* values, int64_t n);
  // g = h rounded to the type of g; h -= g, or 0 where g is not finite.
  void (*send_all)(void* g, float* h, int64_t n);
};
struct TopkKernels {
  TopkFunctions fp32, bf16;  // type of g
  // Writes the places, ascending, and the values of the elements of h, n <= 65536, whose magnitude
  // has bits of at least `least`; returns their number. Both arrays have room for n +
  // kTopkSlack.
  int64_t (*at_least)(const float* h, int64_t n, uint32_t least, uint16_t* places, float* values);
  // Writes the bits of those magnitudes of h that are at least `least` and at most `most`, both
  // bits of magnitudes, in order; returns their number. The array has room for n + kTopkSlack.
  int64_t (*within)(const float* h, int64_t n, uint32_t least, uint32_t most, uint32_t* bits);
  // How many magnitudes of h have bits of at least `least`, which is at most 2^31.
  int64_t (*count_from)(const float* h, int64_t n, uint32_t least);
};
GF_SIMD_DECLARE(TopkKernels, Topk)

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Sums and weights are floats or integers. Integer weights are in units of 2^-kFixedBits, and only
// the final result is rounded. A pixel has 1 or 4 numbers ("lanes").
template <typename T>
struct ResampleLoops {
  // sums[i] = weight * row[i], or, with `add`, sums[i] += weight * row[i].
  void (*accumulate)(const uint8_t* row, int64_t count, T weight, bool add, T* sums);
  // Output pixel i = sum over k < taps of weights[(i * taps + k) * 4] x pixel starts[i] + k.
  // `weights` repeats each weight four times; `taps` is a multiple of 4.
  void (*combine)(const T* pixels, int lanes, const int* starts, const T* weights, int taps,
                  int64_t outputs, T* to);
  // Rounds and limits to 0..255.
  void (*round)(const T* from, int64_t count, uint8_t* to);
};

struct ResampleKernels {
  static constexpr int kFixedBits = 22;

  ResampleLoops<float> real;
  ResampleLoops<int32_t> fixed;
};

GF_SIMD_DECLARE(ResampleKernels, ResampleTable)

}  // namespace gf

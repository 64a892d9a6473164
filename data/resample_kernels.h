#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Pixels here are 1 or 4 numbers ("lanes"). What takes weights in fixed point, in units of
// 2^-kFixedBits, sums without rounding errors.
struct ResampleKernels {
  static constexpr int kFixedBits = 22;

  // sums[i] = weight * row[i], or, with `add`, sums[i] += weight * row[i].
  void (*accumulate)(const uint8_t* row, int64_t count, float weight, bool add, float* sums);
  // Output pixel i = sum over k < taps of weights[(i * taps + k) * 4] x pixel starts[i] + k. Each
  // weight lies there four times, taps is a multiple of 4.
  void (*combine)(const float* pixels, int lanes, const int* starts, const float* weights, int taps,
                  int64_t outputs, float* to);
  // Rounds and limits to 0..255.
  void (*round)(const float* from, int64_t count, uint8_t* to);

  // As accumulate.
  void (*accumulate_fixed)(const uint8_t* row, int64_t count, int32_t weight, bool add,
                           int32_t* sums);
  // As combine, then as round.
  void (*combine_fixed)(const uint8_t* pixels, int lanes, const int* starts, const int32_t* weights,
                        int taps, int64_t outputs, uint8_t* to);
  // As round, of sums.
  void (*round_fixed)(const int32_t* sums, int64_t count, uint8_t* to);
};

GF_SIMD_DECLARE(ResampleKernels, ResampleTable)

}  // namespace gf

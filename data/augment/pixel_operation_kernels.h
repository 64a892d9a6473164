#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The level between `from` and `to`, or beyond them, as PIL blends images: in FP32, limited to
// 0..255, the fraction dropped. Compile without contraction to fused multiply-adds.
static inline uint8_t Blended(int from, int to, float factor) {
  const float product = factor * static_cast<float>(to - from);
  float level = static_cast<float>(from) + product;
  level = level < 0 ? 0 : level;
  level = level > 255 ? 255 : level;
  return static_cast<uint8_t>(static_cast<int>(level));
}

// PIL's gray level of an RGB pixel: weights in 65,536ths, rounded to nearest.
static inline int GrayOf(const uint8_t* pixel) {
  return (19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + (1 << 15)) >> 16;
}

// Loops of operations on pixels of 8 bits.
struct PixelOperationKernels {
  // RGB pixels in place: each number becomes Blended(gray level of its pixel, number, factor).
  void (*saturate)(uint8_t* pixels, int64_t count, float factor);
  // A row without its first and last pixel: each number becomes Blended(smooth, number, factor).
  // `smooth` is the mean of the number, which counts five times, and its eight neighbors, `stride`
  // and `channels` numbers away, rounded. `out` does not overlap.
  void (*sharpen)(const uint8_t* row, int64_t stride, int channels, int64_t numbers, float factor,
                  uint8_t* out);
};

GF_SIMD_DECLARE(PixelOperationKernels, PixelOperationTable)

}  // namespace gf

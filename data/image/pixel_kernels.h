#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Rows of pixels. `from` and `to` never overlap.
struct PixelKernels {
  // RGB to RGB and a zero.
  void (*expand)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // RGB and a byte that is dropped to RGB.
  void (*pack)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // RGB in reverse order.
  void (*mirror)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // RGB in place: channel c becomes matrix[4c] R + matrix[4c + 1] G + matrix[4c + 2] B +
  // matrix[4c + 3], rounded and limited to 0..255.
  void (*transform)(uint8_t* pixels, int64_t count, const float* matrix);
};

GF_SIMD_DECLARE(PixelKernels, PixelTable)

}  // namespace gf

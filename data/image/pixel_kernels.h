#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// How a row of pixels takes the values of a mean: one per channel for all pixels; one per pixel; or
// one per pixel where the pixels run from right to left and the mean does not.
enum class MeanOrder { kPerChannel, kPerPixel, kMirrored };

// Rows of pixels of 8 bits, where nothing else is said. `from` and `to` never overlap.
struct PixelKernels {
  // Appends a zero byte to each RGB pixel.
  void (*expand)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // Drops the fourth byte of each pixel.
  void (*pack)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // Reverses the order of RGB pixels.
  void (*mirror)(const uint8_t* from, int64_t pixels, uint8_t* to);
  // Transforms RGB pixels in place: channel c becomes matrix[4c] R + matrix[4c + 1] G + matrix[4c +
  // 2] B + matrix[4c + 3], rounded and limited to 0..255.
  void (*transform)(uint8_t* pixels, int64_t count, const float* matrix);
  // Turns pixels of UINT8, UINT16 and FP32, in this order, into planes that are `plane` elements
  // apart: to[c * plane + i] = (from[i * channels + c] - mean[c * mean_plane + k]) *
  // inverse_std[c], where k is 0 per channel, i per pixel, and pixels - 1 - i if mirrored.
  void (*subtract_mean[3])(const void* from, int64_t pixels, int channels, const float* mean,
                           int64_t mean_plane, MeanOrder order, const float* inverse_std,
                           int64_t plane, float* to);
};

GF_SIMD_DECLARE(PixelKernels, PixelTable)

}  // namespace gf

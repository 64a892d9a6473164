#include "data/augment/pixel_operation_kernels.h"

namespace gf {
namespace {

void Saturate(uint8_t* pixels, int64_t count, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* const pixel = pixels + 3 * i;
    const int gray = GrayOf(pixel);
    for (int c = 0; c < 3; ++c) pixel[c] = Blended(gray, pixel[c], factor);
  }
}

void Sharpen(const uint8_t* row, int64_t stride, int channels, int64_t numbers, float factor,
             uint8_t* out) {
  const uint8_t* const above = row - stride;
  const uint8_t* const below = row + stride;
#pragma omp simd
  for (int64_t i = 0; i < numbers; ++i) {
    const int64_t left = i - channels, right = i + channels;
    const int sum = above[left] + above[i] + above[right] + row[left] + 5 * row[i] + row[right] +
                    below[left] + below[i] + below[right];
    out[i] = Blended((2 * sum + 13) / 26, row[i], factor);
  }
}

}  // namespace

GF_SIMD_DEFINE(PixelOperationKernels, PixelOperationTable) = {&Saturate, &Sharpen};

}  // namespace gf

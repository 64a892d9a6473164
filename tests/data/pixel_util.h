#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "data/image/image.h"

namespace gf {

// The type of pixels in a vector of T.
template <typename T>
constexpr PixelType kTypeOf = sizeof(T) == 1   ? PixelType::kUINT8
                              : sizeof(T) == 2 ? PixelType::kUINT16
                                               : PixelType::kFP32;

// Pixels without any order, from 0 to `most`, which may be less than 0.
template <typename T>
std::vector<T> NoisePixels(ImageSize size, int channels, double most, int seed = 7) {
  std::mt19937 random(seed);
  std::vector<T> pixels(size.pixels() * channels);
  for (T& pixel : pixels) pixel = static_cast<T>(most * (random() % 100'001) / 100'000);
  return pixels;
}

}  // namespace gf

#pragma once

#include "core/cuda/items_inline.h"

namespace gf {

// A pixel of an image, and the first of a group of its channels.
struct Place {
  int64_t image;
  int y, x, channel;
};

// The items of images [n][height][width][channels] are groups of kCount channels, and a row of
// items is an image; see Note [Indices of 31 bits].
template <int kCount>
class ImagePlaces {
 public:
  ImagePlaces(int64_t n, int height, int width, int channels)
      : n_(n), height_(height), width_(width), packs_(channels / kCount) {}

  ItemGroups groups() const {
    return GroupsOf(n_, int64_t{1} * height_.divisor() * width_.divisor() * packs_.divisor());
  }

  __device__ Place At(int64_t first, uint32_t i) const {
    const FastDivide::Result pixel = packs_.Divide(i), row = width_.Divide(pixel.quotient),
                             image = height_.Divide(row.quotient);
    return {first + image.quotient, static_cast<int>(image.remainder),
            static_cast<int>(row.remainder), static_cast<int>(pixel.remainder) * kCount};
  }

 private:
  int64_t n_;
  FastDivide height_, width_, packs_;
};

// Channels-last images of fewer than 2^31 elements each.
template <typename T>
struct Images {
  T* data;
  int height, width, channels;

  // Address of element (0, 0, channel) of an image.
  __device__ T* At(int64_t image, int channel) const {
    return data + image * (int64_t{height} * width * channels) + channel;
  }
  // Offset of pixel (y, x) from there, in elements.
  __device__ int Offset(int y, int x) const { return (y * width + x) * channels; }
  __device__ bool Has(int y, int x) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(height) &&
           static_cast<unsigned>(x) < static_cast<unsigned>(width);
  }
};

// Calls f(std::integral_constant<int, n>), where n is the number of neighboring elements of T that
// a thread moves at once, in rows of `count` elements, such as the channels of a pixel.
template <typename T, typename F>
void WithPacks(int64_t count, const F& f) {
  if (count % kPack<T> == 0) {
    f(std::integral_constant<int, kPack<T>>());
  } else {
    f(std::integral_constant<int, 1>());
  }
}

}  // namespace gf

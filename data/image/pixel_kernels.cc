#include "data/image/pixel_kernels.h"

namespace gf {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));

Bytes Load(const uint8_t* from) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof(bytes));
  return bytes;
}

void Store(Bytes bytes, uint8_t* to) { __builtin_memcpy(to, &bytes, sizeof(bytes)); }

// The vector loops below move 16 bytes, of which only some count. The extra bytes read lie within
// the row, and the next step overwrites the extra bytes written. The last pixels are moved one by
// one.

void Expand(const uint8_t* from, int64_t pixels, uint8_t* to) {
  const Bytes order = {0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16};
  int64_t i = 0;
  for (; i + 6 <= pixels; i += 4) {
    Store(__builtin_shuffle(Load(from + 3 * i), Bytes{}, order), to + 4 * i);
  }
  for (; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) to[4 * i + c] = from[3 * i + c];
    to[4 * i + 3] = 0;
  }
}

void Pack(const uint8_t* from, int64_t pixels, uint8_t* to) {
  const Bytes order = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 6 <= pixels; i += 4) {
    Store(__builtin_shuffle(Load(from + 4 * i), order), to + 3 * i);
  }
  for (; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) to[3 * i + c] = from[4 * i + c];
  }
}

void Mirror(const uint8_t* from, int64_t pixels, uint8_t* to) {
  const Bytes order = {12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 0};
  const auto move = [&](int64_t i) {
    const uint8_t* pixel = from + 3 * (pixels - 1 - i);
    for (int c = 0; c < 3; ++c) to[3 * i + c] = pixel[c];
  };
  int64_t i = 0;
  // The first group would read beyond the row.
  for (; i < 1 && i < pixels; ++i) move(i);
  for (; i + 6 <= pixels; i += 5) {
    Store(__builtin_shuffle(Load(from + 3 * (pixels - 5 - i)), order), to + 3 * i);
  }
  for (; i < pixels; ++i) move(i);
}

void Transform(uint8_t* pixels, int64_t count, const float* m) {
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    const float r = pixels[0], g = pixels[1], b = pixels[2];
    for (int c = 0; c < 3; ++c) {
      float value = m[4 * c] * r + m[4 * c + 1] * g + m[4 * c + 2] * b + m[4 * c + 3] + 0.5f;
      value = value < 0 ? 0 : value;
      value = value > 255 ? 255 : value;
      pixels[c] = static_cast<uint8_t>(static_cast<int>(value));
    }
  }
}

// A constant number of channels is vectorized; 0 is any number.
template <typename Number, int kChannels>
void SubtractPlanes(const Number* from, int64_t pixels, int channels, const float* mean,
                    int64_t mean_plane, MeanOrder order, const float* inverse_std, int64_t plane,
                    float* to) {
  const int64_t stride = kChannels > 0 ? kChannels : channels;
  for (int64_t c = 0; c < stride; ++c) {
    const float* const first = mean + c * mean_plane;
    const float* const last = first + (pixels - 1);
    const float factor = inverse_std[c];
    float* const out = to + c * plane;
    if (order == MeanOrder::kMirrored) {
#pragma omp simd
      for (int64_t i = 0; i < pixels; ++i) out[i] = (from[stride * i + c] - last[-i]) * factor;
    } else if (order == MeanOrder::kPerPixel) {
#pragma omp simd
      for (int64_t i = 0; i < pixels; ++i) out[i] = (from[stride * i + c] - first[i]) * factor;
    } else {
      const float value = first[0];
#pragma omp simd
      for (int64_t i = 0; i < pixels; ++i) out[i] = (from[stride * i + c] - value) * factor;
    }
  }
}

template <typename Number>
void SubtractMean(const void* from, int64_t pixels, int channels, const float* mean,
                  int64_t mean_plane, MeanOrder order, const float* inverse_std, int64_t plane,
                  float* to) {
  const auto* const row = static_cast<const Number*>(from);
  const auto subtract = channels == 3   ? &SubtractPlanes<Number, 3>
                        : channels == 1 ? &SubtractPlanes<Number, 1>
                                        : &SubtractPlanes<Number, 0>;
  subtract(row, pixels, channels, mean, mean_plane, order, inverse_std, plane, to);
}

}  // namespace

GF_SIMD_DEFINE(PixelKernels, PixelTable) = {
    &Expand,
    &Pack,
    &Mirror,
    &Transform,
    {&SubtractMean<uint8_t>, &SubtractMean<uint16_t>, &SubtractMean<float>},
};

}  // namespace gf

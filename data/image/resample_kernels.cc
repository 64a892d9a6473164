#include "data/image/resample_kernels.h"

namespace gf {
namespace {

template <typename T>
void Accumulate(const uint8_t* row, int64_t count, T weight, bool add, T* sums) {
  if (add) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sums[i] += weight * row[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sums[i] = weight * row[i];
  }
}

template <typename T>
void Combine4(const T* pixels, const int* starts, const T* weights, int taps, int64_t outputs,
              T* to) {
  typedef T Fours __attribute__((vector_size(64)));
  for (int64_t i = 0; i < outputs; ++i) {
    const T* from = pixels + 4 * int64_t{starts[i]};
    // Four taps of four lanes at a time.
    Fours sum = {};
    for (int k = 0; k < taps; k += 4) {
      Fours pixel, weight;
      __builtin_memcpy(&pixel, from + 4 * k, sizeof(pixel));
      __builtin_memcpy(&weight, weights + 4 * k, sizeof(weight));
      sum += pixel * weight;
    }
    const auto half = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
    const auto result = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                        __builtin_shufflevector(half, half, 4, 5, 6, 7);
    __builtin_memcpy(to + 4 * i, &result, sizeof(result));
    weights += 4 * taps;
  }
}

template <typename T>
void Combine(const T* pixels, int lanes, const int* starts, const T* weights, int taps,
             int64_t outputs, T* to) {
  if (lanes == 4) {
    Combine4(pixels, starts, weights, taps, outputs, to);
    return;
  }
  for (int64_t i = 0; i < outputs; ++i) {
    T sum = 0;
    for (int k = 0; k < taps; ++k) sum += weights[4 * k] * pixels[starts[i] + k];
    to[i] = sum;
    weights += 4 * taps;
  }
}

void Round(const float* from, int64_t count, uint8_t* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float value = from[i] + 0.5f;
    value = value < 0 ? 0 : value;
    value = value > 255 ? 255 : value;
    to[i] = static_cast<uint8_t>(static_cast<int>(value));
  }
}

void RoundFixed(const int32_t* from, int64_t count, uint8_t* to) {
  constexpr int kBits = ResampleKernels::kFixedBits;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    int32_t value = (from[i] + (1 << (kBits - 1))) >> kBits;
    value = value < 0 ? 0 : value;
    value = value > 255 ? 255 : value;
    to[i] = static_cast<uint8_t>(value);
  }
}

}  // namespace

GF_SIMD_DEFINE(ResampleKernels, ResampleTable) = {
    {&Accumulate<float>, &Combine<float>, &Round},
    {&Accumulate<int32_t>, &Combine<int32_t>, &RoundFixed},
};

}  // namespace gf

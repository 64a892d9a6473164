#include "data/image/resample_kernels.h"

namespace gf {
namespace {

template <typename Number, typename T>
void Accumulate(const void* from, int64_t count, T weight, bool add, T* sums) {
  const auto* const row = static_cast<const Number*>(from);
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
void CombineLanes(const T* pixels, int lanes, const int* starts, const T* weights, int taps,
                  int64_t outputs, T* to) {
  for (int64_t i = 0; i < outputs; ++i) {
    const T* from = pixels + int64_t{starts[i]} * lanes;
    T sums[ResampleKernels::kMostLanes] = {};
    for (int k = 0; k < taps; ++k, from += lanes) {
      const T weight = weights[4 * k];
#pragma omp simd
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += weight * from[lane];
    }
    for (int lane = 0; lane < lanes; ++lane) to[i * lanes + lane] = sums[lane];
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
  if (lanes > 1) {
    CombineLanes(pixels, lanes, starts, weights, taps, outputs, to);
    return;
  }
  for (int64_t i = 0; i < outputs; ++i) {
    T sum = 0;
    for (int k = 0; k < taps; ++k) sum += weights[4 * k] * pixels[starts[i] + k];
    to[i] = sum;
    weights += 4 * taps;
  }
}

template <typename Number, int kLargest>
void Round(const float* from, int64_t count, void* result) {
  auto* const to = static_cast<Number*>(result);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float value = from[i] + 0.5f;
    value = value < 0 ? 0 : value;
    value = value > kLargest ? kLargest : value;
    to[i] = static_cast<Number>(static_cast<int>(value));
  }
}

void Copy(const float* from, int64_t count, void* to) {
  __builtin_memcpy(to, from, count * sizeof(float));
}

void RoundFixed(const int32_t* from, int64_t count, void* result) {
  constexpr int kBits = ResampleKernels::kFixedBits;
  auto* const to = static_cast<uint8_t*>(result);
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
    {{&Accumulate<uint8_t, float>, &Round<uint8_t, 255>},
     {&Accumulate<uint16_t, float>, &Round<uint16_t, 65535>},
     {&Accumulate<float, float>, &Copy}},
    &Combine<float>,
    {&Accumulate<uint8_t, int32_t>, &RoundFixed},
    &Combine<int32_t>,
};

}  // namespace gf

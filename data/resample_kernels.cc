#include "data/resample_kernels.h"

#include "core/simd_vector.h"

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

void Combine4(const float* pixels, const int* starts, const float* weights, int taps,
              int64_t outputs, float* to) {
  for (int64_t i = 0; i < outputs; ++i) {
    const float* from = pixels + 4 * int64_t{starts[i]};
    // Four taps of four lanes at a time.
    Vec<16> sum = LoadVec<16>(from) * LoadVec<16>(weights);
    for (int k = 4; k < taps; k += 4) {
      sum += LoadVec<16>(from + 4 * k) * LoadVec<16>(weights + 4 * k);
    }
    const Vec<8> half = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
    StoreVec<4>(to + 4 * i, __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                                __builtin_shufflevector(half, half, 4, 5, 6, 7));
    weights += 4 * taps;
  }
}

void Combine(const float* pixels, int lanes, const int* starts, const float* weights, int taps,
             int64_t outputs, float* to) {
  if (lanes == 4) {
    Combine4(pixels, starts, weights, taps, outputs, to);
    return;
  }
  for (int64_t i = 0; i < outputs; ++i) {
    float sum = 0;
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

// Of a sum in fixed point.
uint8_t RoundOne(int32_t sum) {
  constexpr int32_t kHalf = 1 << (ResampleKernels::kFixedBits - 1);
  int32_t value = (sum + kHalf) >> ResampleKernels::kFixedBits;
  value = value < 0 ? 0 : value;
  return static_cast<uint8_t>(value > 255 ? 255 : value);
}

void RoundFixed(const int32_t* sums, int64_t count, uint8_t* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = RoundOne(sums[i]);
}

void CombineFixed4(const uint8_t* pixels, const int* starts, const int32_t* weights, int taps,
                   int64_t outputs, uint8_t* to) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  using Ints = VecTypes<16>::I;
  for (int64_t i = 0; i < outputs; ++i) {
    const uint8_t* from = pixels + 4 * int64_t{starts[i]};
    // Four taps of four lanes at a time.
    Ints sum = {};
    for (int k = 0; k < taps; k += 4) {
      Bytes bytes;
      Ints weight;
      __builtin_memcpy(&bytes, from + 4 * k, sizeof(bytes));
      __builtin_memcpy(&weight, weights + 4 * k, sizeof(weight));
      sum += __builtin_convertvector(bytes, Ints) * weight;
    }
    for (int lane = 0; lane < 4; ++lane) {
      to[4 * i + lane] = RoundOne(sum[lane] + sum[lane + 4] + sum[lane + 8] + sum[lane + 12]);
    }
    weights += 4 * taps;
  }
}

void CombineFixed(const uint8_t* pixels, int lanes, const int* starts, const int32_t* weights,
                  int taps, int64_t outputs, uint8_t* to) {
  if (lanes == 4) {
    CombineFixed4(pixels, starts, weights, taps, outputs, to);
    return;
  }
  for (int64_t i = 0; i < outputs; ++i) {
    int32_t sum = 0;
    for (int k = 0; k < taps; ++k) sum += weights[4 * k] * pixels[starts[i] + k];
    to[i] = RoundOne(sum);
    weights += 4 * taps;
  }
}

}  // namespace

GF_SIMD_DEFINE(ResampleKernels, ResampleTable) = {
    &Accumulate<float>, &Combine, &Round, &Accumulate<int32_t>, &CombineFixed, &RoundFixed,
};

}  // namespace gf

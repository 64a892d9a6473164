#include "layers/cpu/eltwise_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// Results are accumulated in FP32 in a tile that stays in the first-level cache, so each array is
// read or written once.
constexpr int kTile = 1024;

template <typename T>
inline const T* Input(const void* const* arrays, int i, int64_t at) {
  return static_cast<const T*>(arrays[i]) + at;
}

template <typename T>
inline void StoreTop(const EltwiseCall& call, int64_t at, const float* tile, int n) {
  T* y = static_cast<T*>(call.top) + at;
  if (call.relu) {
#pragma omp simd
    for (int i = 0; i < n; ++i) Store(y + i, tile[i] < 0 ? 0.f : tile[i]);
  } else {
#pragma omp simd
    for (int i = 0; i < n; ++i) Store(y + i, tile[i]);
  }
}

template <typename T>
void Sum(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    for (int b = 0; b < call.count; ++b) {
      const T* x = Input<T>(call.bottoms, b, at);
      const float c = call.coefficients[b];
      if (b == 0) {
#pragma omp simd
        for (int i = 0; i < n; ++i) tile[i] = c * Load(x + i);
      } else {
#pragma omp simd
        for (int i = 0; i < n; ++i) tile[i] += c * Load(x + i);
      }
    }
    StoreTop<T>(call, at, tile, n);
  }
}

template <typename T>
void Product(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    for (int i = 0; i < n; ++i) tile[i] = 1;
    for (int b = 0; b < call.count; ++b) {
      const T* x = Input<T>(call.bottoms, b, at);
#pragma omp simd
      for (int i = 0; i < n; ++i) tile[i] *= Load(x + i);
    }
    StoreTop<T>(call, at, tile, n);
  }
}

// As in Caffe, the second bottom wins a tie with the first; later bottoms lose every tie.
template <typename T>
void Maximum(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile];
  uint8_t winners[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    const T* a = Input<T>(call.bottoms, 0, at);
    const T* b = Input<T>(call.bottoms, 1, at);
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const float first = Load(a + i), second = Load(b + i);
      tile[i] = first > second ? first : second;
      winners[i] = first > second ? 0 : 1;
    }
    for (int k = 2; k < call.count; ++k) {
      const T* x = Input<T>(call.bottoms, k, at);
      const uint8_t index = static_cast<uint8_t>(k);
#pragma omp simd
      for (int i = 0; i < n; ++i) {
        const float value = Load(x + i);
        winners[i] = value > tile[i] ? index : winners[i];
        tile[i] = value > tile[i] ? value : tile[i];
      }
    }
    if (call.winners != nullptr) __builtin_memcpy(call.winners + at, winners, n);
    StoreTop<T>(call, at, tile, n);
  }
}

// tile = sum of the gradients of the top, or 0 where the ReLU clipped.
template <typename T>
inline void LoadGradient(const EltwiseCall& call, int64_t at, float* tile, int n) {
  const T* dy = Input<T>(call.top_diffs, 0, at);
#pragma omp simd
  for (int i = 0; i < n; ++i) tile[i] = Load(dy + i);
  for (int k = 1; k < call.top_diff_count; ++k) {
    const T* more = Input<T>(call.top_diffs, k, at);
#pragma omp simd
    for (int i = 0; i < n; ++i) tile[i] += Load(more + i);
  }
  if (!call.relu) return;
  const T* y = static_cast<const T*>(call.top) + at;
#pragma omp simd
  for (int i = 0; i < n; ++i) tile[i] = Load(y + i) > 0 ? tile[i] : 0.f;
}

template <typename T>
void SumBackward(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    LoadGradient<T>(call, at, tile, n);
    for (int b = 0; b < call.count; ++b) {
      if (call.bottom_diffs[b] == nullptr) continue;
      T* dx = static_cast<T*>(call.bottom_diffs[b]) + at;
      const float c = call.coefficients[b];
#pragma omp simd
      for (int i = 0; i < n; ++i) Store(dx + i, c * tile[i]);
    }
  }
}

template <typename T>
void ProductBackward(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile], product[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    LoadGradient<T>(call, at, tile, n);
    for (int b = 0; b < call.count; ++b) {
      if (call.bottom_diffs[b] == nullptr) continue;
      for (int i = 0; i < n; ++i) product[i] = tile[i];
      for (int other = 0; other < call.count; ++other) {
        if (other == b) continue;
        const T* x = Input<T>(call.bottoms, other, at);
#pragma omp simd
        for (int i = 0; i < n; ++i) product[i] *= Load(x + i);
      }
      T* dx = static_cast<T*>(call.bottom_diffs[b]) + at;
#pragma omp simd
      for (int i = 0; i < n; ++i) Store(dx + i, product[i]);
    }
  }
}

template <typename T>
void MaximumBackward(const EltwiseCall& call, int64_t begin, int64_t end) {
  alignas(64) float tile[kTile];
  for (int64_t at = begin; at < end; at += kTile) {
    const int n = end - at < kTile ? static_cast<int>(end - at) : kTile;
    LoadGradient<T>(call, at, tile, n);
    const uint8_t* winners = call.winners + at;
    for (int b = 0; b < call.count; ++b) {
      if (call.bottom_diffs[b] == nullptr) continue;
      T* dx = static_cast<T*>(call.bottom_diffs[b]) + at;
      const uint8_t index = static_cast<uint8_t>(b);
#pragma omp simd
      for (int i = 0; i < n; ++i) Store(dx + i, winners[i] == index ? tile[i] : 0.f);
    }
  }
}

template <typename T>
constexpr EltwiseFunctions Functions() {
  return {&Sum<T>,         &Product<T>,         &Maximum<T>,
          &SumBackward<T>, &ProductBackward<T>, &MaximumBackward<T>};
}

template <typename T>
void SumOfTwo(const T* a, const T* b, T* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) Store(to + i, Load(a + i) + Load(b + i));
}

}  // namespace

GF_SIMD_DEFINE(EltwiseKernels, Eltwise) = {Functions<float>(), Functions<uint16_t>()};
GF_SIMD_DEFINE(SumKernels, SumTable) = {&SumOfTwo<float>, &SumOfTwo<uint16_t>};

}  // namespace gf

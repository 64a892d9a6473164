#pragma once

// Parts of the depthwise kernels, compiled by simd_library.

#include <cstdint>

#include "core/bf16_inline.h"
#include "core/simd_vector.h"
#include "layers/cpu/depthwise_kernels.h"

namespace gf {

// Lanes of the widest vectors.
#if defined(__AVX512F__)
constexpr int kMostLanes = 16;
#elif defined(__AVX2__)
constexpr int kMostLanes = 8;
#else
constexpr int kMostLanes = 4;
#endif

GF_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
GF_INLINE int64_t Max(int64_t a, int64_t b) { return a < b ? b : a; }

// Neighboring channels as a vector; one channel as a number.
template <int kCount>
struct Lanes {
  using V = Vec<kCount>;
  template <typename T>
  GF_INLINE V From(const T* p) {
    return LoadVec<kCount>(p);
  }
  template <typename T>
  GF_INLINE void To(T* p, V v) {
    StoreVec<kCount>(p, v);
  }
  GF_INLINE V Positive(V v) { return Relu<kCount>(v); }
};

template <>
struct Lanes<1> {
  using V = float;
  template <typename T>
  GF_INLINE V From(const T* p) {
    return Load(p);
  }
  template <typename T>
  GF_INLINE void To(T* p, V v) {
    Store(p, v);
  }
  GF_INLINE V Positive(V v) { return v < 0 ? 0.f : v; }
};

// Calls f(Lanes<n>(), l) for vectors of n lanes [l, l + n) that cover the plane's lanes.
template <typename F>
GF_INLINE void ForLanes(const DepthwisePlane& p, const F& f) {
  if (p.lanes == 1) return f(Lanes<1>(), 0);
  if constexpr (kMostLanes == 16) {
    if (p.lanes == 8) return f(Lanes<8>(), 0);
  }
  for (int l = 0; l < p.lanes; l += kMostLanes) f(Lanes<kMostLanes>(), l);
}

struct Range {
  int64_t begin, end;
};

// The j in [0, count) for which inputs j * advance + lowest to j * advance + highest exist.
GF_INLINE Range Inside(int64_t lowest, int64_t highest, int64_t advance, int64_t size,
                       int64_t count) {
  const int64_t begin = lowest < 0 ? (-lowest + advance - 1) / advance : 0;
  const int64_t end = highest < size ? (size - 1 - highest) / advance + 1 : 0;
  const int64_t first = Min(begin, count);
  return {first, Max(first, Min(end, count))};
}

}  // namespace gf

#pragma once

// Neighboring channels of a pixel for kernels compiled by simd_library: one source for vectors and
// for single channels.

#include <cstdint>

#include "core/bf16_inline.h"
#include "core/simd_vector.h"

namespace gf {

// kLanes channels as a vector. V: their values; I: an integer for each.
template <int kLanes>
struct Lanes {
  using V = Vec<kLanes>;
  using I = typename VecTypes<kLanes>::I;
  template <typename T>
  GF_INLINE V From(const T* p) {
    return LoadVec<kLanes>(p);
  }
  template <typename T>
  GF_INLINE void To(T* p, V v) {
    StoreVec<kLanes>(p, v);
  }
  // Int: an unsigned type of at most 32 bits.
  template <typename Int>
  GF_INLINE I FromInts(const Int* p) {
    typename Narrow<Int>::V narrow;
    __builtin_memcpy(&narrow, p, sizeof(narrow));
    return __builtin_convertvector(narrow, I);
  }
  template <typename Int>
  GF_INLINE void ToInts(Int* p, I v) {
    const auto narrow = __builtin_convertvector(v, typename Narrow<Int>::V);
    __builtin_memcpy(p, &narrow, sizeof(narrow));
  }
  GF_INLINE V Positive(V v) { return Relu<kLanes>(v); }

 private:
  template <typename Int>
  struct Narrow {
    typedef Int V __attribute__((vector_size(kLanes * sizeof(Int))));
  };
};

// One channel as a number.
template <>
struct Lanes<1> {
  using V = float;
  using I = int32_t;
  template <typename T>
  GF_INLINE V From(const T* p) {
    return Load(p);
  }
  template <typename T>
  GF_INLINE void To(T* p, V v) {
    Store(p, v);
  }
  template <typename Int>
  GF_INLINE I FromInts(const Int* p) {
    return static_cast<I>(*p);
  }
  template <typename Int>
  GF_INLINE void ToInts(Int* p, I v) {
    *p = static_cast<Int>(v);
  }
  GF_INLINE V Positive(V v) { return v < 0 ? 0.f : v; }
};

// Calls f(Lanes<n>(), l) for groups of n channels [l, l + n) that cover `channels`, which are 1, 8
// or 16.
template <typename F>
GF_INLINE void ForLanes(int channels, const F& f) {
  if (channels == 1) return f(Lanes<1>(), 0);
  if constexpr (kNativeLanes == 16) {
    if (channels == 8) return f(Lanes<8>(), 0);
  }
  for (int l = 0; l < channels; l += kNativeLanes) f(Lanes<kNativeLanes>(), l);
}

}  // namespace gf

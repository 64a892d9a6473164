#pragma once

// Vectors of 4, 8 or 16 floats for kernels compiled by simd_library, based on the compiler's vector
// extension, which uses the widest instructions of the variant. Loads and stores of FP32 and BF16.

#include <cstdint>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define GF_INLINE static inline __attribute__((always_inline))

namespace gf {

template <int kLanes>
struct VecTypes {
  typedef float F __attribute__((vector_size(kLanes * 4)));
  typedef int32_t I __attribute__((vector_size(kLanes * 4)));
  typedef uint32_t U __attribute__((vector_size(kLanes * 4)));
  typedef uint16_t H __attribute__((vector_size(kLanes * 2)));
};

template <int kLanes>
using Vec = typename VecTypes<kLanes>::F;

// A number as a type.
template <int kNumber>
struct Int {
  static constexpr int kValue = kNumber;
};

// Calls body(Int<0>()), body(Int<1>()), ... with numbers below kCount.
template <typename Body, int... kIndex>
GF_INLINE void Each(const Body& body, std::integer_sequence<int, kIndex...>) {
  (body(Int<kIndex>()), ...);
}
template <int kCount, typename Body>
GF_INLINE void ForEach(const Body& body) {
  Each(body, std::make_integer_sequence<int, kCount>());
}

// Floats of a vector register of the variant. GCC 12 moves wider vectors through memory after each
// operation.
#if defined(__AVX512F__)
static constexpr int kNativeLanes = 16;
#elif defined(__AVX2__)
static constexpr int kNativeLanes = 8;
#else
static constexpr int kNativeLanes = 4;
#endif

template <int kLanes>
GF_INLINE Vec<kLanes> LoadVec(const float* p) {
  Vec<kLanes> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

template <int kLanes>
GF_INLINE Vec<kLanes> LoadVec(const uint16_t* p) {
  typename VecTypes<kLanes>::H h;
  __builtin_memcpy(&h, p, sizeof(h));
  const auto bits = __builtin_convertvector(h, typename VecTypes<kLanes>::U) << 16;
  return (Vec<kLanes>)bits;
}

template <int kLanes>
GF_INLINE void StoreVec(float* p, Vec<kLanes> v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

// Rounds to nearest even. NaN stays NaN.
template <int kLanes>
GF_INLINE void StoreVec(uint16_t* p, Vec<kLanes> v) {
  using U = typename VecTypes<kLanes>::U;
  const U bits = (U)v;
  const U rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const U nan = (bits >> 16) | 0x40u;
  const U is_nan = (U)((bits & 0x7fffffffu) > 0x7f800000u);
  const auto h =
      __builtin_convertvector((is_nan & nan) | (~is_nan & rounded), typename VecTypes<kLanes>::H);
  __builtin_memcpy(p, &h, sizeof(h));
}

// Stores past the cache, for results that will not be read soon; the cache line need not be read
// first. p must be aligned to the size of the vector. Falls back to a plain store if there is no
// such instruction.
template <int kLanes, typename T>
GF_INLINE void StreamVec(T* p, Vec<kLanes> v) {
#ifdef __AVX512F__
  if constexpr (kLanes == 16 && sizeof(T) == 4) {
    _mm512_stream_ps(p, (__m512)v);
    return;
  } else if constexpr (kLanes == 16) {
    alignas(32) uint16_t half[16];
    StoreVec<kLanes>(half, v);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(half)));
    return;
  }
#endif
  StoreVec<kLanes>(p, v);
}

template <int kLanes>
GF_INLINE Vec<kLanes> Broadcast(float value) {
  return Vec<kLanes>{} + value;
}

// max(0, v); NaN stays NaN.
template <int kLanes>
GF_INLINE Vec<kLanes> Relu(Vec<kLanes> v) {
  return v < 0 ? Vec<kLanes>{} : v;
}

}  // namespace gf

#pragma once

// Vectors of floats from and to memory in the wire types, for kernels compiled by simd_library.
// Conversions round to nearest even; NaN stays NaN. Without F16C, FP16 is converted by integer
// arithmetic, with the same bits.

#include <cstdint>

#include "core/simd_vector.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace gf {

// Number types as they lie in memory; `T` is how pointers to them are declared.
struct AsFP32 {
  typedef float T;
};
struct AsBF16 {
  typedef uint16_t T;
};
struct AsFP16 {
  typedef uint16_t T;
};

using NativeVec = Vec<kNativeLanes>;
using NativeBits = VecTypes<kNativeLanes>::U;

GF_INLINE NativeVec LoadVec(AsFP32, const float* p) { return LoadVec<kNativeLanes>(p); }
GF_INLINE void StoreVec(AsFP32, float* p, NativeVec v) { StoreVec<kNativeLanes>(p, v); }

// `yes` where the mask is all ones, `no` where it is 0.
GF_INLINE NativeBits Choose(NativeBits mask, NativeBits yes, NativeBits no) {
  return (mask & yes) | (~mask & no);
}

// Per variant: LoadHalves widens 16-bit words; StoreHalves stores the low 16 bits of each lane, of
// which the high 16 bits are 0; LoadVec and StoreVec of FP16.
#if defined(__AVX512F__)

// All lanes, by masked instructions: GCC 12 warns of the plain ones' undefined pass-through.
static constexpr __mmask16 kAllLanes = 0xffff;

GF_INLINE __m256i Load256(const uint16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

GF_INLINE void Store256(uint16_t* p, __m256i halves) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves);
}

GF_INLINE NativeBits LoadHalves(const uint16_t* p) {
  return (NativeBits)_mm512_maskz_cvtepu16_epi32(kAllLanes, Load256(p));
}

GF_INLINE void StoreHalves(uint16_t* p, NativeBits halves) {
  Store256(p, _mm512_maskz_cvtepi32_epi16(kAllLanes, (__m512i)halves));
}

GF_INLINE NativeVec LoadVec(AsFP16, const uint16_t* p) {
  return (NativeVec)_mm512_maskz_cvtph_ps(kAllLanes, Load256(p));
}

GF_INLINE void StoreVec(AsFP16, uint16_t* p, NativeVec v) {
  Store256(p, _mm512_maskz_cvtps_ph(kAllLanes, (__m512)v,
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#elif defined(__AVX2__)

GF_INLINE __m128i Load128(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

GF_INLINE void Store128(uint16_t* p, __m128i halves) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), halves);
}

GF_INLINE NativeBits LoadHalves(const uint16_t* p) {
  return (NativeBits)_mm256_cvtepu16_epi32(Load128(p));
}

GF_INLINE void StoreHalves(uint16_t* p, NativeBits halves) {
  const __m256i bits = (__m256i)halves;
  Store128(p, _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1)));
}

GF_INLINE NativeVec LoadVec(AsFP16, const uint16_t* p) {
  return (NativeVec)_mm256_cvtph_ps(Load128(p));
}

GF_INLINE void StoreVec(AsFP16, uint16_t* p, NativeVec v) {
  Store128(p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

#else

GF_INLINE NativeBits LoadHalves(const uint16_t* p) {
  VecTypes<kNativeLanes>::H halves;
  __builtin_memcpy(&halves, p, sizeof(halves));
  return __builtin_convertvector(halves, NativeBits);
}

GF_INLINE void StoreHalves(uint16_t* p, NativeBits halves) {
  const auto h = __builtin_convertvector(halves, VecTypes<kNativeLanes>::H);
  __builtin_memcpy(p, &h, sizeof(h));
}

GF_INLINE NativeVec LoadVec(AsFP16, const uint16_t* p) {
  const NativeBits h = LoadHalves(p);
  const NativeBits magnitude = h & 0x7fffu;
  const NativeBits shifted = magnitude << 13;
  // The exponents' biases differ by 112; infinity and NaN go from exponent 31 to 255.
  const NativeBits normal = shifted + 0x38000000u;
  const NativeBits special =
      (shifted + 0x70000000u) | ((NativeBits)(magnitude > 0x7c00u) & 0x400000u);
  // A subnormal m * 2^-24 is (2^-14 + m * 2^-24) - 2^-14.
  const NativeBits subnormal = (NativeBits)((NativeVec)(shifted + 0x38800000u) - 0x1p-14f);
  const NativeBits bits = Choose((NativeBits)(magnitude < 0x400u), subnormal,
                                 Choose((NativeBits)(magnitude < 0x7c00u), normal, special));
  return (NativeVec)(bits | ((h & 0x8000u) << 16));
}

GF_INLINE void StoreVec(AsFP16, uint16_t* p, NativeVec v) {
  const NativeBits bits = (NativeBits)v;
  const NativeBits magnitude = bits & 0x7fffffffu;
  const NativeBits normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // The unit in the last place of 0.5 is that of FP16's subnormals, 2^-24.
  const NativeBits subnormal = (NativeBits)((NativeVec)magnitude + 0.5f) - 0x3f000000u;
  const NativeBits nan = ((magnitude >> 13) & 0x3ffu) | 0x7e00u;
  const NativeBits finite = Choose((NativeBits)(magnitude < 0x38800000u), subnormal, normal);
  const NativeBits large =
      Choose((NativeBits)(magnitude > 0x7f800000u), nan, NativeBits{} + 0x7c00u);
  const NativeBits half = Choose((NativeBits)(magnitude < 0x47800000u), finite, large);
  StoreHalves(p, half | ((bits >> 16) & 0x8000u));
}

#endif

GF_INLINE NativeVec LoadVec(AsBF16, const uint16_t* p) { return (NativeVec)(LoadHalves(p) << 16); }

GF_INLINE void StoreVec(AsBF16, uint16_t* p, NativeVec v) {
  const NativeBits bits = (NativeBits)v;
  const NativeBits rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  StoreHalves(p, Choose((NativeBits)(v != v), bits | 0x400000u, rounded) >> 16);
}

// The first `count` <= kNativeLanes elements; on loading, the others are 0.
template <class Type>
GF_INLINE NativeVec LoadPart(Type type, const typename Type::T* p, int64_t count) {
  typename Type::T padded[kNativeLanes] = {};
  __builtin_memcpy(padded, p, count * sizeof(*p));
  return LoadVec(type, padded);
}

template <class Type>
GF_INLINE void StorePart(Type type, typename Type::T* p, NativeVec v, int64_t count) {
  typename Type::T padded[kNativeLanes];
  StoreVec(type, padded, v);
  __builtin_memcpy(p, padded, count * sizeof(*p));
}

}  // namespace gf

#include "comm/quantized/kernels.h"

#include <utility>

#include "comm/quantized/quantized_buckets.h"
#include "comm/quantized/rotation_inline.h"
#include "comm/quantized/rotation_vector.h"
#include "comm/wire/wire_vector.h"

namespace gf {
namespace {

using NativeInts = VecTypes<kNativeLanes>::I;

GF_INLINE NativeVec At(const float* x, int i) { return LoadVec(AsFP32(), x + i * kNativeLanes); }
GF_INLINE void Put(float* x, int i, NativeVec v) { StoreVec(AsFP32(), x + i * kNativeLanes, v); }

// --- codes ----------------------------------------------------------------------------

// Lane k of the result is the larger one of lanes k and k ^ kStep.
template <int kStep, size_t... kLane>
GF_INLINE NativeInts LargerOfLanes(NativeInts v, std::index_sequence<kLane...>) {
  const NativeInts other = __builtin_shufflevector(v, v, (kLane ^ kStep)...);
  return v > other ? v : other;
}

// The largest magnitude's bits; NaN and infinity are larger than numbers.
GF_INLINE uint32_t LargestBits(const NativeVec* x) {
  NativeInts largest = {};
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) {
    const auto magnitude = (NativeInts)((NativeBits)x[i] & 0x7fffffffu);
    largest = magnitude > largest ? magnitude : largest;
  }
  largest = LargerOfLanes<1>(largest, Lanes());
  largest = LargerOfLanes<2>(largest, Lanes());
  if constexpr (kNativeLanes > 4) largest = LargerOfLanes<4>(largest, Lanes());
  if constexpr (kNativeLanes > 8) largest = LargerOfLanes<8>(largest, Lanes());
  return static_cast<uint32_t>(largest[0]);
}

struct Scales {
  float scale = 0, inverse = 0;
};

template <int kBits>
GF_INLINE Scales ScalesOf(const NativeVec* x) {
  constexpr float kLevels = (1 << (kBits - 1)) - 1;
  const uint32_t bits = LargestBits(x);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof(largest));
  if (bits >= 0x7f800000u) return {__builtin_nanf(""), 0};
  if (largest < kLeastKept) return {};
  return {largest / kLevels, kLevels / largest};
}

// Adding 3 * 2^22 leaves the nearest integer in the low bits of a number; subtracting it again
// gives that integer.
constexpr float kRounder = 12582912;

// PutBytes stores the low byte of each lane as vector i of the codes; CodesAt reads it with its
// sign. GCC 12 makes scalar code of the general form for AVX2 and AVX-512.
#if defined(__AVX512F__)

GF_INLINE void PutBytes(uint8_t* codes, int i, NativeBits bits) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(codes) + i,
                   _mm512_maskz_cvtepi32_epi8(kAllLanes, (__m512i)bits));
}

GF_INLINE NativeInts CodesAt(const uint8_t* codes, int i) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes) + i);
  return (NativeInts)_mm512_maskz_cvtepi8_epi32(kAllLanes, bytes);
}

#elif defined(__AVX2__)

GF_INLINE void PutBytes(uint8_t* codes, int i, NativeBits bits) {
  const auto low = (__m256i)(bits & 0xffu);
  const __m128i halves =
      _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + i * kNativeLanes),
                   _mm_packus_epi16(halves, halves));
}

GF_INLINE NativeInts CodesAt(const uint8_t* codes, int i) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i * kNativeLanes));
  return (NativeInts)_mm256_cvtepi8_epi32(bytes);
}

#else

typedef uint8_t NativeBytes __attribute__((vector_size(kNativeLanes)));
typedef int8_t NativeCodes __attribute__((vector_size(kNativeLanes)));

GF_INLINE void PutBytes(uint8_t* codes, int i, NativeBits bits) {
  const auto bytes = __builtin_convertvector(bits & 0xffu, NativeBytes);
  __builtin_memcpy(codes + i * kNativeLanes, &bytes, sizeof(bytes));
}

GF_INLINE NativeInts CodesAt(const uint8_t* codes, int i) {
  NativeCodes bytes;
  __builtin_memcpy(&bytes, codes + i * kNativeLanes, sizeof(bytes));
  return __builtin_convertvector(bytes, NativeInts);
}

#endif

GF_INLINE NativeVec Scaled(NativeInts codes, float scale) {
  return __builtin_convertvector(codes, NativeVec) * scale;
}

// Writes the codes of x. Unless `rest` is nullptr, it becomes the rounding error; it may be x.
template <int kBits>
GF_INLINE float EncodeVectors(const NativeVec* x, uint8_t* codes, NativeVec* rest) {
  const Scales scales = ScalesOf<kBits>(x);
  if (__builtin_isnan(scales.scale)) {
    __builtin_memset(codes, 0, kQuantizedBlock * kBits / 8);
    return scales.scale;
  }
  const auto code = [&](int i) {
    const NativeVec rounded = x[i] * scales.inverse + kRounder;
    if (rest != nullptr) rest[i] = x[i] - (rounded - kRounder) * scales.scale;
    return (NativeBits)rounded;
  };
  if constexpr (kBits == 8) {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors; ++i) PutBytes(codes, i, code(i));
  } else {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors / 2; ++i) {
      const NativeBits low = code(i) & 15u;
      PutBytes(codes, i, low | (code(i + kVectors / 2) & 15u) << 4);
    }
  }
  return scales.scale;
}

// put(i, values): vector i of the block's scaled codes.
template <int kBits, typename Put>
GF_INLINE void ForValues(float scale, const uint8_t* codes, const Put& put) {
  if constexpr (kBits == 8) {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors; ++i) put(i, Scaled(CodesAt(codes, i), scale));
  } else {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors / 2; ++i) {
      const NativeInts both = CodesAt(codes, i);
      put(i, Scaled(both << 28 >> 28, scale));
      put(i + kVectors / 2, Scaled(both >> 4, scale));
    }
  }
}

// --- whole blocks ---------------------------------------------------------------------

GF_INLINE NativeVec Kept(NativeVec v) {
  const auto magnitude = (NativeVec)((NativeBits)v & 0x7fffffffu);
  return (NativeVec)((NativeBits)v & (NativeBits)(magnitude >= kLeastKept));
}

template <class Type, int kBits, bool kRotate>
float EncodeWhole(int64_t begin, const typename Type::T* g, float* h, uint8_t* codes) {
  NativeVec x[kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] = LoadVec(Type(), g + i * kNativeLanes) + At(h, i);
  if constexpr (kRotate) Rotate(begin, x);
  const float scale = EncodeVectors<kBits>(x, codes, x);
  if (__builtin_isnan(scale)) {
    for (int i = 0; i < kQuantizedBlock; ++i) h[i] = __builtin_isfinite(h[i]) ? h[i] : 0;
    return scale;
  }
  if constexpr (kRotate) Unrotate(begin, x);
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) Put(h, i, Kept(x[i]));
  return scale;
}

template <class Type, int kBits>
float Encode(const QuantizedBlock& block, bool rotate, const void* gradients, float* h,
             uint8_t* codes) {
  using T = typename Type::T;
  const auto* const g = static_cast<const T*>(gradients);
  if (block.count < kQuantizedBlock) {
    T padded_g[kQuantizedBlock] = {};
    float padded_h[kQuantizedBlock] = {};
    __builtin_memcpy(padded_g, g, block.count * sizeof(T));
    __builtin_memcpy(padded_h, h, block.count * sizeof(float));
    const float scale = EncodeWhole<Type, kBits, false>(block.begin, padded_g, padded_h, codes);
    __builtin_memcpy(h, padded_h, block.count * sizeof(float));
    return scale;
  }
  return rotate && block.full != 0 ? EncodeWhole<Type, kBits, true>(block.begin, g, h, codes)
                                   : EncodeWhole<Type, kBits, false>(block.begin, g, h, codes);
}

template <class Type, int kBits, bool kRotate>
void DecodeWhole(int64_t begin, float scale, const uint8_t* codes, typename Type::T* g) {
  NativeVec y[kVectors];
  ForValues<kBits>(scale, codes, [&](int i, NativeVec v) { y[i] = v; });
  if constexpr (kRotate) Unrotate(begin, y);
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) StoreVec(Type(), g + i * kNativeLanes, y[i]);
}

template <class Type, int kBits>
void Decode(const QuantizedBlock& block, bool rotate, float scale, const uint8_t* codes,
            void* gradients) {
  using T = typename Type::T;
  auto* const g = static_cast<T*>(gradients);
  if (block.count < kQuantizedBlock) {
    T padded[kQuantizedBlock];
    DecodeWhole<Type, kBits, false>(block.begin, scale, codes, padded);
    __builtin_memcpy(g, padded, block.count * sizeof(T));
  } else if (rotate && block.full != 0) {
    DecodeWhole<Type, kBits, true>(block.begin, scale, codes, g);
  } else {
    DecodeWhole<Type, kBits, false>(block.begin, scale, codes, g);
  }
}

// --- sums -----------------------------------------------------------------------------

template <int kBits>
GF_INLINE void Sum(const QuantizedTerms& terms, NativeVec* x) {
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] = NativeVec{};
  for (int rank = 0; rank < terms.count; ++rank) {
    const float scale = terms.scale[rank * terms.words];
    const uint8_t* const codes = terms.codes + rank * terms.words * sizeof(float);
    ForValues<kBits>(scale, codes, [&](int i, NativeVec y) { x[i] += y; });
  }
}

template <int kBits>
float EncodeSum(const QuantizedTerms& terms, uint8_t* codes) {
  NativeVec x[kVectors];
  Sum<kBits>(terms, x);
  return EncodeVectors<kBits>(x, codes, nullptr);
}

template <int kBits, bool kRotate>
void KeepWhole(int64_t begin, const QuantizedTerms& terms, float scale, const uint8_t* codes,
               float* h) {
  NativeVec rest[kVectors];
  Sum<kBits>(terms, rest);
  ForValues<kBits>(scale, codes, [&](int i, NativeVec y) { rest[i] -= y; });
  if constexpr (kRotate) Unrotate(begin, rest);
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) Put(h, i, Kept(At(h, i) + rest[i]));
}

template <int kBits>
void KeepSum(const QuantizedBlock& block, bool rotate, const QuantizedTerms& terms, float scale,
             const uint8_t* codes, float* h) {
  if (block.count < kQuantizedBlock) {
    float padded[kQuantizedBlock] = {};
    __builtin_memcpy(padded, h, block.count * sizeof(float));
    KeepWhole<kBits, false>(block.begin, terms, scale, codes, padded);
    __builtin_memcpy(h, padded, block.count * sizeof(float));
  } else if (rotate && block.full != 0) {
    KeepWhole<kBits, true>(block.begin, terms, scale, codes, h);
  } else {
    KeepWhole<kBits, false>(block.begin, terms, scale, codes, h);
  }
}

}  // namespace

GF_SIMD_DEFINE(QuantizedKernels, Quantized) = {
    {{&Encode<AsFP32, 8>, &Decode<AsFP32, 8>}, {&Encode<AsFP32, 4>, &Decode<AsFP32, 4>}},
    {{&Encode<AsBF16, 8>, &Decode<AsBF16, 8>}, {&Encode<AsBF16, 4>, &Decode<AsBF16, 4>}},
    {&EncodeSum<8>, &KeepSum<8>},
    {&EncodeSum<4>, &KeepSum<4>},
};

}  // namespace gf

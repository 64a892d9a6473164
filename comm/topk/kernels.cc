#include "comm/topk/kernels.h"

#include "comm/wire/wire_vector.h"
#include "core/bf16_inline.h"

namespace gf {
namespace {

template <bool kVelocity, bool kNesterov, typename T>
GF_INLINE void AccumulateAs(const T* __restrict g, float* __restrict u, float* __restrict h,
                            int64_t n, float scale, float momentum) {
  for (int64_t i = 0; i < n; ++i) {
    const float entering = scale * Load(g + i);
    if (!kVelocity) {
      h[i] += entering;
      continue;
    }
    const float velocity = momentum * u[i] + entering;
    u[i] = velocity;
    h[i] += kNesterov ? momentum * velocity + entering : velocity;
  }
}

template <typename T>
void Accumulate(const void* gradients, float* u, float* h, int64_t n, float scale, float momentum,
                bool nesterov) {
  const T* const g = static_cast<const T*>(gradients);
  if (u == nullptr) {
    AccumulateAs<false, false>(g, u, h, n, scale, momentum);
  } else if (nesterov) {
    AccumulateAs<true, true>(g, u, h, n, scale, momentum);
  } else {
    AccumulateAs<true, false>(g, u, h, n, scale, momentum);
  }
}

constexpr int kSums = 32;
constexpr int64_t kBlock = 128 * kSums;

template <typename T>
double Squares(const void* gradients, int64_t n) {
  const T* const g = static_cast<const T*>(gradients);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    float sums[kSums] = {};
    int64_t i = begin;
    for (; i + kSums <= end; i += kSums) {
      for (int k = 0; k < kSums; ++k) sums[k] += Load(g + i + k) * Load(g + i + k);
    }
    for (int k = 0; i < end; ++i, ++k) sums[k] += Load(g + i) * Load(g + i);
    for (const float sum : sums) total += static_cast<double>(sum);
  }
  return total;
}

template <typename T>
void AddAt(void* gradients, const uint16_t* places, const float* values, int64_t n) {
  T* const g = static_cast<T*>(gradients);
  for (int64_t i = 0; i < n; ++i) Store(g + places[i], Load(g + places[i]) + values[i]);
}

GF_INLINE bool Finite(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return (bits & 0x7f800000u) != 0x7f800000u;
}

template <typename T>
void SendAll(void* gradients, float* __restrict h, int64_t n) {
  T* __restrict g = static_cast<T*>(gradients);
  for (int64_t i = 0; i < n; ++i) {
    Store(g + i, h[i]);
    const float sent = Load(g + i);
    h[i] = Finite(sent) ? h[i] - sent : 0;
  }
}

// The lanes, a bit each, whose magnitudes have bits of at least `least`, which is at most 2^31.
GF_INLINE uint32_t LanesFrom(NativeBits magnitude, uint32_t least) {
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(least));
  uint32_t lanes = _mm512_cmpge_epu32_mask((__m512i)magnitude, limit);
  // Into a general register: GCC 12 stores a mask register's 16 bits and then loads 32.
  __asm__("" : "+r"(lanes));
  return lanes;
#elif defined(__AVX2__)
  // No magnitude is negative as a signed number, but least - 1 may be -1.
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(least - 1));
  const __m256i above = _mm256_cmpgt_epi32((__m256i)magnitude, limit);
  return static_cast<uint32_t>(_mm256_movemask_ps((__m256)above));
#else
  uint32_t lanes = 0;
  for (int k = 0; k < kNativeLanes; ++k) {
    lanes |= static_cast<uint32_t>(magnitude[k] >= least) << k;
  }
  return lanes;
#endif
}

// Calls body(first element, vector, lanes that exist) for the vectors of an array.
template <typename Body>
GF_INLINE void ForVectors(const float* values, int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kNativeLanes <= n; i += kNativeLanes) body(i, LoadVec(AsFP32(), values + i), ~0u);
  if (i < n) body(i, LoadPart(AsFP32(), values + i, n - i), (1u << (n - i)) - 1);
}

// Writes the places (from `first` on) and values of a vector's elements, where `lanes` has a bit;
// returns their number.
GF_INLINE int Take(NativeVec v, uint32_t lanes, int64_t first, uint16_t* places, float* values) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>(lanes);
  const __m512i all = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i at = _mm512_add_epi32(all, _mm512_set1_epi32(static_cast<int>(first)));
  StoreVec(AsFP32(), values, (NativeVec)_mm512_maskz_compress_ps(mask, (__m512)v));
  StoreHalves(places, (NativeBits)_mm512_maskz_compress_epi32(mask, at));
  return __builtin_popcount(lanes);
#else
  int found = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    places[found] = static_cast<uint16_t>(first + lane);
    values[found++] = v[lane];
  }
  return found;
#endif
}

GF_INLINE NativeBits Magnitude(NativeVec v) { return (NativeBits)v & 0x7fffffffu; }

int64_t AtLeast(const float* h, int64_t n, uint32_t least, uint16_t* places, float* values) {
  int64_t found = 0;
  ForVectors(h, n, [&](int64_t i, NativeVec v, uint32_t lanes) {
    lanes &= LanesFrom(Magnitude(v), least);
    found += Take(v, lanes, i, places + found, values + found);
  });
  return found;
}

int64_t Within(const float* h, int64_t n, uint32_t least, uint32_t most, uint32_t* bits) {
  int64_t found = 0;
  ForVectors(h, n, [&](int64_t, NativeVec v, uint32_t lanes) {
    const NativeBits magnitude = Magnitude(v);
    lanes &= LanesFrom(magnitude, least) & ~LanesFrom(magnitude, most + 1);
#if defined(__AVX512F__)
    const auto mask = static_cast<__mmask16>(lanes);
    _mm512_storeu_si512(bits + found, _mm512_maskz_compress_epi32(mask, (__m512i)magnitude));
    found += __builtin_popcount(lanes);
#else
    for (; lanes != 0; lanes &= lanes - 1) bits[found++] = magnitude[__builtin_ctz(lanes)];
#endif
  });
  return found;
}

int64_t CountFrom(const float* h, int64_t n, uint32_t least) {
  int64_t count = 0;
  ForVectors(h, n, [&](int64_t, NativeVec v, uint32_t lanes) {
    count += __builtin_popcount(lanes & LanesFrom(Magnitude(v), least));
  });
  return count;
}

template <typename T>
constexpr TopkFunctions kFunctions = {&Accumulate<T>, &Squares<T>, &AddAt<T>, &SendAll<T>};

}  // namespace

GF_SIMD_DEFINE(TopkKernels, Topk) = {kFunctions<float>, kFunctions<uint16_t>, &AtLeast, &Within,
                                     &CountFrom};

}  // namespace gf

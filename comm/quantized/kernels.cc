#include "comm/quantized/kernels.h"

#include <utility>

#include "comm/quantized/quantized_buckets.h"
#include "comm/quantized/rotation_inline.h"
#include "comm/wire/wire_vector.h"

namespace gf {
namespace {

constexpr int kVectors = kQuantizedBlock / kNativeLanes;
using NativeInts = VecTypes<kNativeLanes>::I;
typedef uint8_t NativeBytes __attribute__((vector_size(kNativeLanes)));
typedef int8_t NativeCodes __attribute__((vector_size(kNativeLanes)));
using Lanes = std::make_index_sequence<kNativeLanes>;

GF_INLINE NativeVec At(const float* x, int i) { return LoadVec(AsFP32(), x + i * kNativeLanes); }
GF_INLINE void Put(float* x, int i, NativeVec v) { StoreVec(AsFP32(), x + i * kNativeLanes, v); }

template <class Type>
void Merge(const void* gradients, const float* h, float* x, int64_t n) {
  const auto* const g = static_cast<const typename Type::T*>(gradients);
  int64_t i = 0;
  for (; i + kNativeLanes <= n; i += kNativeLanes) {
    StoreVec(AsFP32(), x + i, LoadVec(Type(), g + i) + LoadVec(AsFP32(), h + i));
  }
  for (; i < n; ++i) x[i] = LoadPart(Type(), g + i, 1)[0] + h[i];
  for (; i < kQuantizedBlock; ++i) x[i] = 0;
}

template <class Type>
void StoreAll(const float* x, void* gradients, int64_t n) {
  auto* const g = static_cast<typename Type::T*>(gradients);
  int64_t i = 0;
  for (; i + kNativeLanes <= n; i += kNativeLanes) {
    StoreVec(Type(), g + i, LoadVec(AsFP32(), x + i));
  }
  if (i < n) StorePart(Type(), g + i, LoadPart(AsFP32(), x + i, n - i), n - i);
}

// --- codes ----------------------------------------------------------------------------

// The largest magnitude's bits; NaN and infinity are larger than numbers.
GF_INLINE uint32_t LargestBits(const float* x) {
  NativeInts largest = {};
  for (int i = 0; i < kVectors; ++i) {
    const auto magnitude = (NativeInts)((NativeBits)At(x, i) & 0x7fffffffu);
    const auto more = (NativeInts)(magnitude > largest);
    largest = (magnitude & more) | (largest & ~more);
  }
  int32_t result = 0;
  for (int k = 0; k < kNativeLanes; ++k) result = largest[k] > result ? largest[k] : result;
  return static_cast<uint32_t>(result);
}

struct Scales {
  float scale = 0, inverse = 0;
};

template <int kBits>
GF_INLINE Scales ScalesOf(const float* x) {
  constexpr float kLevels = (1 << (kBits - 1)) - 1;
  const uint32_t bits = LargestBits(x);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof(largest));
  if (bits >= 0x7f800000u) return {__builtin_nanf(""), 0};
  if (largest < kLeastKept) return {};
  return {largest / kLevels, kLevels / largest};
}

// The code of an element in its low bits.
GF_INLINE NativeBits CodeOf(const float* x, int i, float inverse) {
  // Adding 3 * 2^22 leaves the nearest integer in the low bits.
  return (NativeBits)(At(x, i) * inverse + 12582912.0f);
}

GF_INLINE void PutBytes(uint8_t* codes, int i, NativeBits bits) {
  const auto bytes = __builtin_convertvector(bits & 0xffu, NativeBytes);
  __builtin_memcpy(codes + i * kNativeLanes, &bytes, sizeof(bytes));
}

GF_INLINE NativeInts CodesAt(const uint8_t* codes, int i) {
  NativeCodes bytes;
  __builtin_memcpy(&bytes, codes + i * kNativeLanes, sizeof(bytes));
  return __builtin_convertvector(bytes, NativeInts);
}

GF_INLINE NativeVec Scaled(NativeInts codes, float scale) {
  return __builtin_convertvector(codes, NativeVec) * scale;
}

template <int kBits>
float Encode(const float* x, uint8_t* codes) {
  const Scales scales = ScalesOf<kBits>(x);
  if (scales.inverse == 0) {
    __builtin_memset(codes, 0, kQuantizedBlock * kBits / 8);
  } else if constexpr (kBits == 8) {
    for (int i = 0; i < kVectors; ++i) PutBytes(codes, i, CodeOf(x, i, scales.inverse));
  } else {
    for (int i = 0; i < kVectors / 2; ++i) {
      const NativeBits low = CodeOf(x, i, scales.inverse) & 15u;
      PutBytes(codes, i, low | (CodeOf(x, i + kVectors / 2, scales.inverse) & 15u) << 4);
    }
  }
  return scales.scale;
}

// put(i, values): vector i of the block's scaled codes.
template <int kBits, typename Put>
GF_INLINE void ForValues(float scale, const uint8_t* codes, const Put& put) {
  if constexpr (kBits == 8) {
    for (int i = 0; i < kVectors; ++i) put(i, Scaled(CodesAt(codes, i), scale));
  } else {
    for (int i = 0; i < kVectors / 2; ++i) {
      const NativeInts both = CodesAt(codes, i);
      put(i, Scaled(both << 28 >> 28, scale));
      put(i + kVectors / 2, Scaled(both >> 4, scale));
    }
  }
}

template <int kBits>
void Decode(float scale, const uint8_t* codes, float* x) {
  ForValues<kBits>(scale, codes, [&](int i, NativeVec y) { Put(x, i, y); });
}

template <int kBits>
void Add(float scale, const uint8_t* codes, float* x) {
  ForValues<kBits>(scale, codes, [&](int i, NativeVec y) { Put(x, i, At(x, i) + y); });
}

// --- rotation -------------------------------------------------------------------------

// Sums and differences of lanes whose numbers differ in the bit kStep.
template <int kStep, size_t... kLane>
GF_INLINE NativeVec ButterflyOfLanes(NativeVec v, std::index_sequence<kLane...>) {
  constexpr NativeBits kUpper = {(kLane & kStep ? 0x80000000u : 0u)...};
  const NativeVec other = __builtin_shufflevector(v, v, (kLane ^ kStep)...);
  return other + (NativeVec)((NativeBits)v ^ kUpper);
}

GF_INLINE NativeVec ButterfliesOfLanes(NativeVec v) {
  v = ButterflyOfLanes<1>(v, Lanes());
  v = ButterflyOfLanes<2>(v, Lanes());
  if constexpr (kNativeLanes > 4) v = ButterflyOfLanes<4>(v, Lanes());
  if constexpr (kNativeLanes > 8) v = ButterflyOfLanes<8>(v, Lanes());
  return v;
}

// Of vectors whose numbers differ in a bit, from the lowest to the highest.
GF_INLINE void ButterfliesOfVectors(NativeVec* v) {
#pragma GCC unroll 8
  for (int step = 1; step < kVectors; step *= 2) {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors; ++i) {
      if ((i & step) != 0) continue;
      const NativeVec low = v[i], high = v[i + step];
      v[i] = low + high;
      v[i + step] = low - high;
    }
  }
}

template <size_t... kLane>
GF_INLINE NativeBits LaneNumbers(std::index_sequence<kLane...>) {
  return NativeBits{static_cast<uint32_t>(kLane)...};
}

// Vector i of the block with its signs changed.
GF_INLINE NativeVec Signed(NativeVec v, int64_t begin, int i) {
  const int first = i * kNativeLanes;
  const NativeBits signs = NativeBits{} + RotationSigns(begin, first / 32);
  const NativeBits shifts = (31u - static_cast<uint32_t>(first % 32)) - LaneNumbers(Lanes());
  return (NativeVec)((NativeBits)v ^ (signs << shifts & 0x80000000u));
}

constexpr float kNorm = 1.f / 16;

void Rotate(float* x, int64_t begin) {
  NativeVec v[kVectors];
  for (int i = 0; i < kVectors; ++i) v[i] = ButterfliesOfLanes(Signed(At(x, i), begin, i));
  ButterfliesOfVectors(v);
  for (int i = 0; i < kVectors; ++i) Put(x, i, v[i] * kNorm);
}

void Unrotate(float* x, int64_t begin) {
  NativeVec v[kVectors];
  for (int i = 0; i < kVectors; ++i) v[i] = ButterfliesOfLanes(At(x, i));
  ButterfliesOfVectors(v);
  for (int i = 0; i < kVectors; ++i) Put(x, i, Signed(v[i] * kNorm, begin, i));
}

// --- residuals ------------------------------------------------------------------------

void Subtract(const float* y, float* x) {
  for (int i = 0; i < kVectors; ++i) Put(x, i, At(x, i) - At(y, i));
}

GF_INLINE NativeVec Kept(NativeVec v) {
  const auto magnitude = (NativeVec)((NativeBits)v & 0x7fffffffu);
  return (NativeVec)((NativeBits)v & (NativeBits)(magnitude >= kLeastKept));
}

void Keep(const float* rest, float* h, int64_t n, bool more) {
  int64_t i = 0;
  for (; i + kNativeLanes <= n; i += kNativeLanes) {
    const NativeVec v = LoadVec(AsFP32(), rest + i);
    StoreVec(AsFP32(), h + i, Kept(more ? LoadVec(AsFP32(), h + i) + v : v));
  }
  if (i < n) {
    const NativeVec v = LoadPart(AsFP32(), rest + i, n - i);
    StorePart(AsFP32(), h + i, Kept(more ? LoadPart(AsFP32(), h + i, n - i) + v : v), n - i);
  }
}

}  // namespace

GF_SIMD_DEFINE(QuantizedKernels, Quantized) = {
    {&Merge<AsFP32>, &StoreAll<AsFP32>},
    {&Merge<AsBF16>, &StoreAll<AsBF16>},
    {&Encode<8>, &Decode<8>, &Add<8>},
    {&Encode<4>, &Decode<4>, &Add<4>},
    &Rotate,
    &Unrotate,
    &Subtract,
    &Keep,
};

}  // namespace gf

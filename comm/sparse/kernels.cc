#include "comm/sparse/kernels.h"

#include "comm/wire/wire_vector.h"

namespace gf {
namespace {

// Note [Norms with the same bits]
// An element goes to partial sum (index % kSums) of its block, whatever the width of a vector;
// blocks are added up in order, and within a block the partial sums in theirs.
constexpr int kSums = 32;
constexpr int64_t kBlock = 128 * kSums;
constexpr int kVectors = kSums / kNativeLanes;

struct PartialSums {
  NativeVec v[kVectors];
};

GF_INLINE NativeVec Magnitude(NativeVec v) { return (NativeVec)((NativeBits)v & 0x7fffffffu); }

// g + h, and g itself where h is 0: -0 + 0 would be 0.
GF_INLINE NativeVec Corrected(NativeVec g, NativeVec h) {
  const NativeBits bits = (NativeBits)h;
  return g + (NativeVec)(bits | ((NativeBits)(bits == 0) & 0x80000000u));
}

// Sum of |element(i)| over i = 0 .. count - 1. `whole(i)` handles kNativeLanes elements and
// returns their values, `part(i, n)` the last n, with zeros behind them.
template <class Whole, class Part>
GF_INLINE double SumOfMagnitudes(int64_t count, Whole whole, Part part) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = count - begin < kBlock ? count : begin + kBlock;
    PartialSums sums = {};
    int64_t i = begin;
    for (; i + kSums <= end; i += kSums) {
      for (int k = 0; k < kVectors; ++k) sums.v[k] += Magnitude(whole(i + k * kNativeLanes));
    }
    for (int k = 0; k < kVectors && i < end; ++k, i += kNativeLanes) {
      sums.v[k] += Magnitude(end - i < kNativeLanes ? part(i, end - i) : whole(i));
    }
    for (int k = 0; k < kVectors; ++k) {
      for (int lane = 0; lane < kNativeLanes; ++lane) {
        total += static_cast<double>(sums.v[k][lane]);
      }
    }
  }
  return total;
}

template <class Gradient>
double Keep(const void* gradient, float* h, int64_t count, float momentum) {
  const auto* g = static_cast<const typename Gradient::T*>(gradient);
  const NativeVec factor = Broadcast<kNativeLanes>(momentum);
  return SumOfMagnitudes(
      count,
      [=](int64_t i) __attribute__((always_inline)) {
        const NativeVec sum = LoadVec(Gradient(), g + i) + LoadVec(AsFP32(), h + i);
        StoreVec(AsFP32(), h + i, factor * sum);
        return sum;
      },
      [=](int64_t i, int64_t n) {
        const NativeVec sum = LoadPart(Gradient(), g + i, n) + LoadPart(AsFP32(), h + i, n);
        StorePart(AsFP32(), h + i, factor * sum, n);
        return sum;
      });
}

// `out` may be `g`.
template <class Gradient, class Out>
GF_INLINE void Move(const typename Gradient::T* g, float* h, typename Out::T* out, int64_t count) {
  int64_t i = 0;
  for (; i + kNativeLanes <= count; i += kNativeLanes) {
    StoreVec(Out(), out + i, Corrected(LoadVec(Gradient(), g + i), LoadVec(AsFP32(), h + i)));
    StoreVec(AsFP32(), h + i, NativeVec{});
  }
  if (i < count) {
    const int64_t n = count - i;
    const NativeVec sum = Corrected(LoadPart(Gradient(), g + i, n), LoadPart(AsFP32(), h + i, n));
    StorePart(Out(), out + i, sum, n);
    StorePart(AsFP32(), h + i, NativeVec{}, n);
  }
}

template <class Gradient, class Packed>
void Pack(const void* g, float* h, void* packed, int64_t count) {
  Move<Gradient, Packed>(static_cast<const typename Gradient::T*>(g), h,
                         static_cast<typename Packed::T*>(packed), count);
}

template <class Gradient>
void Merge(void* gradient, float* h, int64_t count) {
  auto* g = static_cast<typename Gradient::T*>(gradient);
  Move<Gradient, Gradient>(g, h, g, count);
}

template <class Gradient, class Packed>
double Unpack(const void* packed_memory, void* gradient, int64_t count) {
  const auto* packed = static_cast<const typename Packed::T*>(packed_memory);
  auto* g = static_cast<typename Gradient::T*>(gradient);
  return SumOfMagnitudes(
      count,
      [=](int64_t i) __attribute__((always_inline)) {
        const NativeVec v = LoadVec(Packed(), packed + i);
        StoreVec(Gradient(), g + i, v);
        return v;
      },
      [=](int64_t i, int64_t n) {
        const NativeVec v = LoadPart(Packed(), packed + i, n);
        StorePart(Gradient(), g + i, v, n);
        return v;
      });
}

template <class Gradient>
double Norm(const void* gradient, int64_t count) {
  const auto* g = static_cast<const typename Gradient::T*>(gradient);
  return SumOfMagnitudes(
      count, [=](int64_t i) __attribute__((always_inline)) { return LoadVec(Gradient(), g + i); },
      [=](int64_t i, int64_t n) { return LoadPart(Gradient(), g + i, n); });
}

template <class Gradient, class Packed>
constexpr SparseFunctions kFunctions = {&Keep<Gradient>, &Pack<Gradient, Packed>, &Merge<Gradient>,
                                        &Unpack<Gradient, Packed>, &Norm<Gradient>};

}  // namespace

GF_SIMD_DEFINE(SparseKernels, Sparse) = {
    kFunctions<AsFP32, AsFP32>, kFunctions<AsFP32, AsBF16>, kFunctions<AsFP32, AsFP16>,
    kFunctions<AsBF16, AsFP32>, kFunctions<AsBF16, AsBF16>, kFunctions<AsBF16, AsFP16>,
};

}  // namespace gf

#include "layers/cpu/thin_product_kernels.h"

#include <cstddef>
#include <utility>

#include "core/simd_vector.h"

namespace gf {
namespace {

// Number of weight rows processed together, so that each load from the thin matrix serves all of
// them: as many as keep their sums in registers.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kRows = 3;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kRows = 1;
#else
constexpr int kLanes = 4, kRows = 1;
#endif
constexpr int kGroup = kThinGroup;
// Number of columns processed together in column sums, which must stay in the caches.
constexpr int64_t kBlock = 1024;

using V = Vec<kLanes>;

GF_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }

template <int kCount, size_t... kIndex>
GF_INLINE float Sum(Vec<kCount> v, std::index_sequence<kIndex...>) {
  constexpr int kHalf = kCount / 2;
  const Vec<kHalf> halves =
      __builtin_shufflevector(v, v, kIndex...) + __builtin_shufflevector(v, v, (kIndex + kHalf)...);
  if constexpr (kHalf == 2) {
    return halves[0] + halves[1];
  } else {
    return Sum<kHalf>(halves, std::make_index_sequence<kHalf / 2>());
  }
}

template <int kNumber>
struct Rows {
  static constexpr int kCount = kNumber;
};

// Calls body(row, Rows<count>()) for groups of `count` rows that cover [begin, end).
template <typename Body>
GF_INLINE void ForRows(int64_t begin, int64_t end, const Body& body) {
  int64_t n = begin;
  for (; n + kRows <= end; n += kRows) body(n, Rows<kRows>());
  for (; n < end; ++n) body(n, Rows<1>());
}

// Prefetches the next rows: the processor does not predict that jump.
template <int kCount, typename T>
GF_INLINE void PrefetchNext(const T* w, int64_t inputs) {
  for (int r = 0; r < kCount; ++r) __builtin_prefetch(w + (r + kCount) * inputs);
}

// y[r, m] = x[m, :] . w[r, :]
template <int kCount, typename T>
GF_INLINE void Dot(const ThinShape& shape, const T* w, const float* x, float* y) {
  const int64_t inputs = shape.inputs;
  V sums[kCount][kGroup] = {};
  for (int64_t i = 0; i < inputs; i += kLanes) {
    PrefetchNext<kCount>(w + i, inputs);
    V weights[kCount];
    for (int r = 0; r < kCount; ++r) weights[r] = LoadVec<kLanes>(w + r * inputs + i);
    for (int m = 0; m < kGroup; ++m) {
      const V value = LoadVec<kLanes>(x + m * shape.stride + i);
      for (int r = 0; r < kCount; ++r) sums[r][m] += weights[r] * value;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int m = 0; m < kGroup; ++m) {
      y[r * shape.rows + m] = Sum<kLanes>(sums[r][m], std::make_index_sequence<kLanes / 2>());
    }
  }
}

// Whole rows, because memory is fastest for long runs.
template <typename T>
void Forward(const ThinShape& shape, const float* x, const T* w, float* y, int64_t begin,
             int64_t end) {
  ForRows(begin, end, [&](int64_t n, auto count) {
    for (int64_t m = 0; m < shape.rows; m += kGroup) {
      Dot<decltype(count)::kCount>(shape, w + n * shape.inputs, x + m * shape.stride,
                                   y + n * shape.rows + m);
    }
  });
}

template <int kCount>
GF_INLINE void LoadFactors(const float* dy, int64_t rows, V (*factors)[kGroup]) {
  for (int r = 0; r < kCount; ++r) {
    for (int m = 0; m < kGroup; ++m) factors[r][m] = Broadcast<kLanes>(dy[r * rows + m]);
  }
}

// dx[m, :] += sum over r of dy[r, m] w[r, :] over `columns` columns.
template <int kCount, typename T>
GF_INLINE void AddRows(const ThinShape& shape, const T* w, const float* dy, int64_t columns,
                       float* dx) {
  const int64_t inputs = shape.inputs;
  V factors[kCount][kGroup];
  LoadFactors<kCount>(dy, shape.rows, factors);
  for (int64_t i = 0; i < columns; i += kLanes) {
    PrefetchNext<kCount>(w + i, inputs);
    V weights[kCount];
    for (int r = 0; r < kCount; ++r) weights[r] = LoadVec<kLanes>(w + r * inputs + i);
    for (int m = 0; m < kGroup; ++m) {
      V sum = LoadVec<kLanes>(dx + m * shape.stride + i);
      for (int r = 0; r < kCount; ++r) sum += factors[r][m] * weights[r];
      StoreVec<kLanes>(dx + m * shape.stride + i, sum);
    }
  }
}

template <typename T>
void BackwardData(const ThinShape& shape, const float* dy, const T* w, float* dx, int64_t outputs,
                  int64_t begin, int64_t end) {
  for (int64_t m = 0; m < shape.rows; ++m) {
    for (int64_t k = begin; k < end; ++k) dx[m * shape.stride + k] = 0;
  }
  for (int64_t k = begin; k < end; k += kBlock) {
    const int64_t columns = Min(kBlock, end - k);
    ForRows(0, outputs, [&](int64_t n, auto count) {
      for (int64_t m = 0; m < shape.rows; m += kGroup) {
        AddRows<decltype(count)::kCount>(shape, w + n * shape.inputs + k, dy + n * shape.rows + m,
                                         columns, dx + m * shape.stride + k);
      }
    });
  }
}

// Adds the sum over m of dy[r, m] x[m, :], over `columns` columns, to the sums[r, :] of earlier
// groups. The last group stores the result in dw.
template <int kCount, typename T>
GF_INLINE void Outer(const ThinShape& shape, const float* x, const float* dy, int64_t columns,
                     bool first, bool last, bool stream, float (*sums)[kBlock], T* dw) {
  const int64_t inputs = shape.inputs;
  V factors[kCount][kGroup];
  LoadFactors<kCount>(dy, shape.rows, factors);
  for (int64_t i = 0; i < columns; i += kLanes) {
    V sum[kCount];
    for (int r = 0; r < kCount; ++r) sum[r] = first ? V{} : LoadVec<kLanes>(sums[r] + i);
    for (int m = 0; m < kGroup; ++m) {
      const V value = LoadVec<kLanes>(x + m * shape.stride + i);
      for (int r = 0; r < kCount; ++r) sum[r] += factors[r][m] * value;
    }
    for (int r = 0; r < kCount; ++r) {
      if (!last) {
        StoreVec<kLanes>(sums[r] + i, sum[r]);
      } else if (stream) {
        StreamVec<kLanes>(dw + r * inputs + i, sum[r]);
      } else {
        StoreVec<kLanes>(dw + r * inputs + i, sum[r]);
      }
    }
  }
}

template <typename T>
void BackwardWeights(const ThinShape& shape, const float* x, const float* dy, T* dw, int64_t begin,
                     int64_t end) {
  const bool stream = reinterpret_cast<uintptr_t>(dw) % 64 == 0 && shape.inputs % 32 == 0;
  alignas(64) float sums[kRows][kBlock];
  for (int64_t k = 0; k < shape.inputs; k += kBlock) {
    const int64_t columns = Min(kBlock, shape.inputs - k);
    ForRows(begin, end, [&](int64_t n, auto count) {
      for (int64_t m = 0; m < shape.rows; m += kGroup) {
        Outer<decltype(count)::kCount>(shape, x + m * shape.stride + k, dy + n * shape.rows + m,
                                       columns, m == 0, m + kGroup == shape.rows, stream, sums,
                                       dw + n * shape.inputs + k);
      }
    });
  }
}

}  // namespace

GF_SIMD_DEFINE(ThinKernels, Thin) = {
    {&Forward<float>, &BackwardData<float>, &BackwardWeights<float>},
    {&Forward<uint16_t>, &BackwardData<uint16_t>, &BackwardWeights<uint16_t>}};

}  // namespace gf

#include "comm/low_rank/kernels.h"

#include "core/bf16_inline.h"
#include "core/simd_vector.h"

namespace gf {
namespace {

// Every instruction set adds in the same lanes.
constexpr int kLanes = kLowRankLanes;
using V = Vec<kLanes>;
// Rows and factors that are handled together.
constexpr int kRows = 4, kFactors = 4;

GF_INLINE V LoadSome(const float* p, int64_t n) {
  float padded[kLanes] = {};
  __builtin_memcpy(padded, p, n * sizeof(float));
  return LoadVec<kLanes>(padded);
}
GF_INLINE void StoreSome(float* p, V v, int64_t n) {
  float padded[kLanes];
  StoreVec<kLanes>(padded, v);
  __builtin_memcpy(p, padded, n * sizeof(float));
}

GF_INLINE float SumOf(V v) {
  float sum = 0;
  for (int k = 0; k < kLanes; ++k) sum += v[k];
  return sum;
}

// sums[r][f] += row r of m times factor f.
template <int kR, int kF>
GF_INLINE void AddTile(const float* m, int64_t columns, const float* factor, int64_t stride,
                       V (&sums)[kR][kF]) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    V factors[kF];
    for (int f = 0; f < kF; ++f) factors[f] = LoadVec<kLanes>(factor + f * stride + j);
    for (int r = 0; r < kR; ++r) {
      const V v = LoadVec<kLanes>(m + r * columns + j);
      for (int f = 0; f < kF; ++f) sums[r][f] += v * factors[f];
    }
  }
  if (j == columns) return;
  for (int r = 0; r < kR; ++r) {
    const V v = LoadSome(m + r * columns + j, columns - j);
    for (int f = 0; f < kF; ++f) sums[r][f] += v * LoadSome(factor + f * stride + j, columns - j);
  }
}

// A number that the compiler knows.
template <int n>
struct Number {
  static constexpr int value = n;
};

// use(row, rows, factor, factors) for tiles of kRows rows or one, and kFactors factors or one; both
// counts are Numbers.
template <class Use>
GF_INLINE void ForTiles(int64_t rows, int rank, Use use) {
  constexpr Number<kRows> all_rows;
  constexpr Number<kFactors> all_factors;
  constexpr Number<1> one;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    int k = 0;
    for (; k + kFactors <= rank; k += kFactors) use(i, all_rows, k, all_factors);
    for (; k < rank; ++k) use(i, all_rows, k, one);
  }
  for (; i < rows; ++i) {
    int k = 0;
    for (; k + kFactors <= rank; k += kFactors) use(i, one, k, all_factors);
    for (; k < rank; ++k) use(i, one, k, one);
  }
}

void TimesColumns(const float* m, int64_t rows, int64_t columns, const LowRankFactors& factors,
                  float* out, int64_t stride) {
  const LowRankFactors f = factors;
  ForTiles(
      rows,
      f.rank, [=](int64_t i, auto some_rows, int k, auto some) __attribute__((always_inline)) {
        constexpr int r = decltype(some_rows)::value, n = decltype(some)::value;
        V sums[r][n] = {};
        AddTile(m + i * columns, columns, f.columns + k * f.columns_stride, f.columns_stride, sums);
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) out[(k + b) * stride + i + a] = SumOf(sums[a][b]);
        }
      });
}

void AddTimesColumns(const float* m, int64_t rows, int64_t columns, const LowRankFactors& factors,
                     float* lanes) {
  const LowRankFactors f = factors;
  ForTiles(
      rows,
      f.rank, [=](int64_t i, auto some_rows, int k, auto some) __attribute__((always_inline)) {
        constexpr int r = decltype(some_rows)::value, n = decltype(some)::value;
        V sums[r][n];
        const auto place = [=](int a, int b) __attribute__((always_inline)) {
          return lanes + ((k + b) * rows + i + a) * kLanes;
        };
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) sums[a][b] = LoadVec<kLanes>(place(a, b));
        }
        AddTile(m + i * columns, columns, f.columns + k * f.columns_stride, f.columns_stride, sums);
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) StoreVec<kLanes>(place(a, b), sums[a][b]);
        }
      });
}

void AddTimesRows(const float* m, int64_t rows, int64_t columns, const LowRankFactors& factors,
                  float* out, int64_t stride) {
  const LowRankFactors f = factors;
  ForTiles(
      rows,
      f.rank, [=](int64_t row, auto some_rows, int k, auto some) __attribute__((always_inline)) {
        constexpr int r = decltype(some_rows)::value, n = decltype(some)::value;
        float of_row[r][n];
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) of_row[a][b] = f.rows[(k + b) * f.rows_stride + row + a];
        }
        const float* const first = m + row * columns;
        int64_t j = 0;
        for (; j + kLanes <= columns; j += kLanes) {
          V values[r];
          for (int a = 0; a < r; ++a) values[a] = LoadVec<kLanes>(first + a * columns + j);
          for (int b = 0; b < n; ++b) {
            float* const to = out + (k + b) * stride + j;
            V sum = LoadVec<kLanes>(to);
            for (int a = 0; a < r; ++a) sum += values[a] * of_row[a][b];
            StoreVec<kLanes>(to, sum);
          }
        }
        for (; j < columns; ++j) {
          for (int b = 0; b < n; ++b) {
            for (int a = 0; a < r; ++a) {
              out[(k + b) * stride + j] += first[a * columns + j] * of_row[a][b];
            }
          }
        }
      });
}

// Calls use(element, sum, elements) for kR rows from `row` on, with sum = sum over k of
// rows[k][row] * columns[k][j ...], added in order; `element` is the index of the first one in m.
template <int kR, class Use>
GF_INLINE void ForRows(int64_t row, int64_t columns, const LowRankFactors& f, Use use) {
  int64_t j = 0;
  for (; j < columns; j += kLanes) {
    const int64_t n = columns - j < kLanes ? columns - j : kLanes;
    V sums[kR] = {};
    for (int k = 0; k < f.rank; ++k) {
      const float* const p = f.columns + k * f.columns_stride + j;
      const V factor = n == kLanes ? LoadVec<kLanes>(p) : LoadSome(p, n);
      for (int r = 0; r < kR; ++r) sums[r] += f.rows[k * f.rows_stride + row + r] * factor;
    }
    for (int r = 0; r < kR; ++r) use((row + r) * columns + j, sums[r], n);
  }
}

template <class Use>
GF_INLINE void ForProducts(int64_t rows, int64_t columns, const LowRankFactors& factors, Use use) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) ForRows<kRows>(i, columns, factors, use);
  for (; i < rows; ++i) ForRows<1>(i, columns, factors, use);
}

void Expand(float* m, int64_t rows, int64_t columns, const LowRankFactors& factors) {
  const LowRankFactors f = factors;
  ForProducts(
      rows, columns, f, [=](int64_t at, V sum, int64_t n) __attribute__((always_inline)) {
        n == kLanes ? StoreVec<kLanes>(m + at, sum) : StoreSome(m + at, sum, n);
      });
}

void Subtract(float* m, int64_t rows, int64_t columns, const LowRankFactors& factors) {
  const LowRankFactors f = factors;
  ForProducts(
      rows, columns, f, [=](int64_t at, V sum, int64_t n) __attribute__((always_inline)) {
        if (n == kLanes) {
          StoreVec<kLanes>(m + at, LoadVec<kLanes>(m + at) - sum);
        } else {
          StoreSome(m + at, LoadSome(m + at, n) - sum, n);
        }
      });
}

template <typename T>
void Add(const void* gradients, float* __restrict h, int64_t n) {
  const T* __restrict g = static_cast<const T*>(gradients);
  for (int64_t i = 0; i < n; ++i) h[i] += Load(g + i);
}

template <typename T>
void Merge(void* gradients, float* __restrict h, int64_t n) {
  T* __restrict g = static_cast<T*>(gradients);
  for (int64_t i = 0; i < n; ++i) {
    Store(g + i, Load(g + i) + h[i]);
    h[i] = 0;
  }
}

}  // namespace

GF_SIMD_DEFINE(LowRankKernels, LowRank) = {
    &TimesColumns, &AddTimesColumns, &AddTimesRows, &Expand,          &Subtract,
    &Add<float>,   &Add<uint16_t>,   &Merge<float>, &Merge<uint16_t>,
};

}  // namespace gf

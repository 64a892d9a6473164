#include "comm/low_rank/kernels.h"

#include "comm/wire/wire_vector.h"
#include "core/bf16_inline.h"

namespace gf {
namespace {

// Every instruction set adds in the same lanes.
constexpr int kLanes = kLowRankLanes, kParts = kLanes / kNativeLanes;
// Rows and factors that are handled together.
constexpr int kRows = 4, kFactors = 4;
// Rows of a tile with kFactors factors: its sums stay in registers.
constexpr int kTileRows = kRows / kParts;

// kLanes floats in registers of the variant.
struct V {
  NativeVec part[kParts];
};

GF_INLINE V LoadLanes(const float* p) {
  V v;
  for (int i = 0; i < kParts; ++i) v.part[i] = LoadVec<kNativeLanes>(p + i * kNativeLanes);
  return v;
}
GF_INLINE void StoreLanes(float* p, const V& v) {
  for (int i = 0; i < kParts; ++i) StoreVec<kNativeLanes>(p + i * kNativeLanes, v.part[i]);
}
GF_INLINE V LoadSome(const float* p, int64_t n) {
  float padded[kLanes] = {};
  __builtin_memcpy(padded, p, n * sizeof(float));
  return LoadLanes(padded);
}
GF_INLINE void StoreSome(float* p, const V& v, int64_t n) {
  float padded[kLanes];
  StoreLanes(padded, v);
  __builtin_memcpy(p, padded, n * sizeof(float));
}

// sum += a * b.
GF_INLINE void AddProduct(const V& a, const V& b, V* sum) {
  for (int i = 0; i < kParts; ++i) sum->part[i] += a.part[i] * b.part[i];
}
GF_INLINE void AddProduct(const V& a, float b, V* sum) {
  for (int i = 0; i < kParts; ++i) sum->part[i] += a.part[i] * b;
}

GF_INLINE float SumOf(const V& v) {
  float lanes[kLanes], sum = 0;
  StoreLanes(lanes, v);
  for (const float lane : lanes) sum += lane;
  return sum;
}

// sums[r][f] += row r of m times factor f.
template <int kR, int kF>
GF_INLINE void AddTile(const float* m, int64_t columns, const float* factor, int64_t stride,
                       V (&sums)[kR][kF]) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    for (int r = 0; r < kR; ++r) {
      const V v = LoadLanes(m + r * columns + j);
      for (int f = 0; f < kF; ++f) AddProduct(v, LoadLanes(factor + f * stride + j), &sums[r][f]);
    }
  }
  if (j == columns) return;
  for (int r = 0; r < kR; ++r) {
    const V v = LoadSome(m + r * columns + j, columns - j);
    for (int f = 0; f < kF; ++f) {
      AddProduct(v, LoadSome(factor + f * stride + j, columns - j), &sums[r][f]);
    }
  }
}

// A number that the compiler knows.
template <int n>
struct Number {
  static constexpr int value = n;
};

// use(row, rows, factor, factors) for tiles of kRows rows or one, and kFactors factors or one; with
// kFactors factors kRowsOfTile rows or one. Both counts are Numbers.
template <int kRowsOfTile, class Use>
GF_INLINE void ForTiles(int64_t rows, int rank, Use use) {
  constexpr Number<kRows> all_rows;
  constexpr Number<kRowsOfTile> tile_rows;
  constexpr Number<kFactors> all_factors;
  constexpr Number<1> one;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    int k = 0;
    for (; k + kFactors <= rank; k += kFactors) {
      for (int r = 0; r < kRows; r += kRowsOfTile) use(i + r, tile_rows, k, all_factors);
    }
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
  ForTiles<kTileRows>(
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
  ForTiles<kTileRows>(
      rows,
      f.rank, [=](int64_t i, auto some_rows, int k, auto some) __attribute__((always_inline)) {
        constexpr int r = decltype(some_rows)::value, n = decltype(some)::value;
        V sums[r][n];
        const auto place = [=](int a, int b) __attribute__((always_inline)) {
          return lanes + ((k + b) * rows + i + a) * kLanes;
        };
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) sums[a][b] = LoadLanes(place(a, b));
        }
        AddTile(m + i * columns, columns, f.columns + k * f.columns_stride, f.columns_stride, sums);
        for (int a = 0; a < r; ++a) {
          for (int b = 0; b < n; ++b) StoreLanes(place(a, b), sums[a][b]);
        }
      });
}

void AddTimesRows(const float* m, int64_t rows, int64_t columns, const LowRankFactors& factors,
                  float* out, int64_t stride) {
  const LowRankFactors f = factors;
  ForTiles<kRows>(
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
          for (int a = 0; a < r; ++a) values[a] = LoadLanes(first + a * columns + j);
          for (int b = 0; b < n; ++b) {
            float* const to = out + (k + b) * stride + j;
            V sum = LoadLanes(to);
            for (int a = 0; a < r; ++a) AddProduct(values[a], of_row[a][b], &sum);
            StoreLanes(to, sum);
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

// sums[r] = sum over k of rows[k][row + r] * the vector that load(columns[k] + j) gives, added in
// order.
template <int kR, class LoadColumns>
GF_INLINE void ProductOf(int64_t row, int64_t j, const LowRankFactors& f, LoadColumns load,
                         V (&sums)[kR]) {
  for (int r = 0; r < kR; ++r) sums[r] = V{};
  for (int k = 0; k < f.rank; ++k) {
    const V factor = load(f.columns + k * f.columns_stride + j);
    const float* const rows = f.rows + k * f.rows_stride + row;
    for (int r = 0; r < kR; ++r) AddProduct(factor, rows[r], &sums[r]);
  }
}

// Calls use(element, sum, elements) for kR rows from `row` on, with the sums of ProductOf;
// `element` is the index of the first one in m.
template <int kR, class Use>
GF_INLINE void ForRows(int64_t row, int64_t columns, const LowRankFactors& f, Use use) {
  V sums[kR];
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    ProductOf(
        row, j, f, [](const float* p) __attribute__((always_inline)) { return LoadLanes(p); },
        sums);
    for (int r = 0; r < kR; ++r) use((row + r) * columns + j, sums[r], kLanes);
  }
  const int64_t n = columns - j;
  if (n == 0) return;
  ProductOf(
      row, j, f, [=](const float* p) __attribute__((always_inline)) { return LoadSome(p, n); },
      sums);
  for (int r = 0; r < kR; ++r) use((row + r) * columns + j, sums[r], n);
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
      rows, columns, f, [=](int64_t at, const V& sum, int64_t n) __attribute__((always_inline)) {
        n == kLanes ? StoreLanes(m + at, sum) : StoreSome(m + at, sum, n);
      });
}

void Subtract(float* m, int64_t rows, int64_t columns, const LowRankFactors& factors) {
  const LowRankFactors f = factors;
  ForProducts(
      rows, columns, f, [=](int64_t at, const V& sum, int64_t n) __attribute__((always_inline)) {
        V v = n == kLanes ? LoadLanes(m + at) : LoadSome(m + at, n);
        for (int i = 0; i < kParts; ++i) v.part[i] -= sum.part[i];
        n == kLanes ? StoreLanes(m + at, v) : StoreSome(m + at, v, n);
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

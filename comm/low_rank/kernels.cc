#include "comm/low_rank/kernels.h"

#include "core/bf16_inline.h"
#include "core/simd_vector.h"

namespace gf {
namespace {

// Every instruction set adds in the same lanes.
constexpr int kLanes = 16;
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

// sums[r][f] = row r of m times factor f.
template <int kR, int kF>
GF_INLINE void ProjectTile(const float* m, int64_t columns, const float* right, float* left,
                           int64_t rows) {
  V sums[kR][kF] = {};
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    V factors[kF];
    for (int f = 0; f < kF; ++f) factors[f] = LoadVec<kLanes>(right + f * columns + j);
    for (int r = 0; r < kR; ++r) {
      const V v = LoadVec<kLanes>(m + r * columns + j);
      for (int f = 0; f < kF; ++f) sums[r][f] += v * factors[f];
    }
  }
  if (j < columns) {
    for (int r = 0; r < kR; ++r) {
      const V v = LoadSome(m + r * columns + j, columns - j);
      for (int f = 0; f < kF; ++f) {
        sums[r][f] += v * LoadSome(right + f * columns + j, columns - j);
      }
    }
  }
  for (int r = 0; r < kR; ++r) {
    for (int f = 0; f < kF; ++f) left[f * rows + r] = SumOf(sums[r][f]);
  }
}

template <int kF>
void ProjectFactors(const float* m, int64_t rows, int64_t columns, const float* right, float* left,
                    int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i + kRows <= end; i += kRows) {
    ProjectTile<kRows, kF>(m + i * columns, columns, right, left + i, rows);
  }
  for (; i < end; ++i) ProjectTile<1, kF>(m + i * columns, columns, right, left + i, rows);
}

void Project(const float* m, int64_t rows, int64_t columns, const float* right, int rank,
             float* left, int64_t begin, int64_t end) {
  int k = 0;
  for (; k + kFactors <= rank; k += kFactors) {
    ProjectFactors<kFactors>(m, rows, columns, right + k * columns, left + k * rows, begin, end);
  }
  for (; k < rank; ++k) {
    ProjectFactors<1>(m, rows, columns, right + k * columns, left + k * rows, begin, end);
  }
}

// right[f][j] += rows of m times factors, in the order of the rows.
template <int kR, int kF>
GF_INLINE void CorrelateTile(const float* m, int64_t rows, int64_t columns, const float* left,
                             float* right) {
  float factors[kR][kF];
  for (int r = 0; r < kR; ++r) {
    for (int f = 0; f < kF; ++f) factors[r][f] = left[f * rows + r];
  }
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    V values[kR];
    for (int r = 0; r < kR; ++r) values[r] = LoadVec<kLanes>(m + r * columns + j);
    for (int f = 0; f < kF; ++f) {
      V sum = LoadVec<kLanes>(right + f * columns + j);
      for (int r = 0; r < kR; ++r) sum += values[r] * factors[r][f];
      StoreVec<kLanes>(right + f * columns + j, sum);
    }
  }
  for (; j < columns; ++j) {
    for (int f = 0; f < kF; ++f) {
      for (int r = 0; r < kR; ++r) right[f * columns + j] += m[r * columns + j] * factors[r][f];
    }
  }
}

template <int kR>
void CorrelateRows(const float* m, int64_t rows, int64_t columns, const float* left, int rank,
                   float* right) {
  int k = 0;
  for (; k + kFactors <= rank; k += kFactors) {
    CorrelateTile<kR, kFactors>(m, rows, columns, left + k * rows, right + k * columns);
  }
  for (; k < rank; ++k) {
    CorrelateTile<kR, 1>(m, rows, columns, left + k * rows, right + k * columns);
  }
}

void Correlate(const float* m, int64_t rows, int64_t columns, const float* left, int rank,
               float* right, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < rank * columns; ++i) right[i] = 0;
  int64_t i = begin;
  for (; i + kRows <= end; i += kRows) {
    CorrelateRows<kRows>(m + i * columns, rows, columns, left + i, rank, right);
  }
  for (; i < end; ++i) CorrelateRows<1>(m + i * columns, rows, columns, left + i, rank, right);
}

// Calls use(row, j, sum, elements) for kR rows from `row` on, with sum = sum over k of
// left[k][row] * right[k][j ...], added in order.
template <int kR, class Use>
GF_INLINE void ForRows(int64_t row, int64_t rows, int64_t columns, const float* left,
                       const float* right, int rank, Use use) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    V sums[kR] = {};
    for (int k = 0; k < rank; ++k) {
      const V factor = LoadVec<kLanes>(right + k * columns + j);
      for (int r = 0; r < kR; ++r) sums[r] += left[k * rows + row + r] * factor;
    }
    for (int r = 0; r < kR; ++r) use(row + r, j, sums[r], int64_t{kLanes});
  }
  if (j == columns) return;
  V sums[kR] = {};
  for (int k = 0; k < rank; ++k) {
    const V factor = LoadSome(right + k * columns + j, columns - j);
    for (int r = 0; r < kR; ++r) sums[r] += left[k * rows + row + r] * factor;
  }
  for (int r = 0; r < kR; ++r) use(row + r, j, sums[r], columns - j);
}

template <class Use>
GF_INLINE void ForProducts(int64_t rows, int64_t columns, const float* left, const float* right,
                           int rank, int64_t begin, int64_t end, Use use) {
  int64_t i = begin;
  for (; i + kRows <= end; i += kRows) {
    ForRows<kRows>(i, rows, columns, left, right, rank, use);
  }
  for (; i < end; ++i) ForRows<1>(i, rows, columns, left, right, rank, use);
}

void Expand(float* m, int64_t rows, int64_t columns, const float* left, const float* right,
            int rank, int64_t begin, int64_t end) {
  ForProducts(
      rows, columns, left, right, rank, begin,
      end, [=](int64_t i, int64_t j, V sum, int64_t n) __attribute__((always_inline)) {
        float* const p = m + i * columns + j;
        n == kLanes ? StoreVec<kLanes>(p, sum) : StoreSome(p, sum, n);
      });
}

void Subtract(float* m, int64_t rows, int64_t columns, const float* left, const float* right,
              int rank, int64_t begin, int64_t end) {
  ForProducts(
      rows, columns, left, right, rank, begin,
      end, [=](int64_t i, int64_t j, V sum, int64_t n) __attribute__((always_inline)) {
        float* const p = m + i * columns + j;
        if (n == kLanes) {
          StoreVec<kLanes>(p, LoadVec<kLanes>(p) - sum);
        } else {
          StoreSome(p, LoadSome(p, n) - sum, n);
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
    &Project,    &Correlate,     &Expand,       &Subtract,
    &Add<float>, &Add<uint16_t>, &Merge<float>, &Merge<uint16_t>,
};

}  // namespace gf

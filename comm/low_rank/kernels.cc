#include "comm/low_rank/kernels.h"

#include "core/bf16_inline.h"
#include "core/simd_vector.h"

namespace gf {
namespace {

// Every instruction set adds in the same lanes.
constexpr int kLanes = 16;
using V = Vec<kLanes>;
// Rows and factors that are handled together, and elements of a block of columns.
constexpr int kRows = 4, kFactors = 4;
constexpr int64_t kBlock = 512;

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

// right[f][j] for a block of columns; rows are added in order.
template <int kF>
GF_INLINE void CorrelateBlock(const float* m, int64_t rows, int64_t columns, const float* left,
                              float* right, int64_t begin, int64_t count) {
  float sums[kF][kBlock] = {};
  for (int64_t i = 0; i < rows; ++i) {
    const float* const row = m + i * columns + begin;
    float factors[kF];
    for (int f = 0; f < kF; ++f) factors[f] = left[f * rows + i];
    int64_t j = 0;
    for (; j + kLanes <= count; j += kLanes) {
      const V v = LoadVec<kLanes>(row + j);
      for (int f = 0; f < kF; ++f) {
        StoreVec<kLanes>(sums[f] + j, LoadVec<kLanes>(sums[f] + j) + v * factors[f]);
      }
    }
    for (; j < count; ++j) {
      for (int f = 0; f < kF; ++f) sums[f][j] += row[j] * factors[f];
    }
  }
  for (int f = 0; f < kF; ++f) {
    __builtin_memcpy(right + f * columns + begin, sums[f], count * sizeof(float));
  }
}

void Correlate(const float* m, int64_t rows, int64_t columns, const float* left, int rank,
               float* right, int64_t begin, int64_t end) {
  for (int64_t b = begin; b < end; b += kBlock) {
    const int64_t count = end - b < kBlock ? end - b : kBlock;
    int k = 0;
    for (; k + kFactors <= rank; k += kFactors) {
      CorrelateBlock<kFactors>(m, rows, columns, left + k * rows, right + k * columns, b, count);
    }
    for (; k < rank; ++k) {
      CorrelateBlock<1>(m, rows, columns, left + k * rows, right + k * columns, b, count);
    }
  }
}

// Calls use(row, j, sum, elements) with sum = sum over k of left[k][row] * right[k][j ...].
template <class Use>
GF_INLINE void ForProducts(int64_t rows, int64_t columns, const float* left, const float* right,
                           int rank, int64_t begin, int64_t end, Use use) {
  for (int64_t b = 0; b < columns; b += kBlock) {
    const int64_t last = columns - b < kBlock ? columns : b + kBlock;
    for (int64_t i = begin; i < end; ++i) {
      int64_t j = b;
      for (; j + kLanes <= last; j += kLanes) {
        V sum = {};
        for (int k = 0; k < rank; ++k) {
          sum += left[k * rows + i] * LoadVec<kLanes>(right + k * columns + j);
        }
        use(i, j, sum, int64_t{kLanes});
      }
      if (j == last) continue;
      V sum = {};
      for (int k = 0; k < rank; ++k) {
        sum += left[k * rows + i] * LoadSome(right + k * columns + j, last - j);
      }
      use(i, j, sum, last - j);
    }
  }
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

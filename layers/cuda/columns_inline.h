#pragma once

#include "core/cuda/launch_inline.h"
#include "layers/cuda/columns.h"

namespace gf {

// Note [Columns]
// What batch norm, biases and scales do goes over a matrix of rows x columns with values per
// column. A block has a tile of columns and a part of the rows; each thread holds the values of
// kCount neighbouring columns in registers and goes down its rows. Sums over the rows are made in
// a fixed order that depends on the shape only: per thread, then over the threads of the block,
// both in FP32, then over the blocks in double by a second kernel.

// How a matrix is shared out.
struct ColumnsGrid {
  dim3 block, grid;

  ColumnsGrid(const ColumnsView& view, int count, int most_blocks) {
    const int64_t packs = view.columns / count;
    unsigned across = 1;
    while (across < 32 && across < packs) across *= 2;
    block = dim3(across, kThreads / across);
    const int64_t tiles = (packs + across - 1) / across;
    constexpr int64_t kRowsOfAThread = 8;
    const int64_t per_block = kRowsOfAThread * block.y;
    const int64_t parts = std::max<int64_t>(
        1, std::min<int64_t>(most_blocks / tiles, (view.rows + per_block - 1) / per_block));
    grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(parts));
  }
};

constexpr int kSumBlocks = 512, kApplyBlocks = 4096;

template <int kCount, int kSums, typename F>
__global__ void __launch_bounds__(kThreads)
    ColumnsKernel(int64_t rows, int columns, F f, float* partial) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kCount;
  Floats<kCount> sums[kSums > 0 ? kSums : 1] = {};
  if (column < columns) {
    const auto values = f.template Begin<kCount>(column);
    const int64_t end = rows * (blockIdx.y + 1) / gridDim.y;
    for (int64_t row = rows * blockIdx.y / gridDim.y + threadIdx.y; row < end; row += blockDim.y) {
      f.template Row<kCount>(values, row * columns + column, sums);
    }
  }
  if constexpr (kSums > 0) {
    __shared__ float shared[kSums * kCount * kThreads];  // [sum, k][y][x]
    const int across = blockDim.x, down = blockDim.y;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        shared[((s * kCount + k) * down + threadIdx.y) * across + threadIdx.x] = sums[s].v[k];
      }
    }
    __syncthreads();
    for (int i = threadIdx.y * across + threadIdx.x; i < kSums * kCount * across; i += kThreads) {
      const int x = i % across, s = i / across / kCount, k = i / across % kCount;
      const int at = static_cast<int>(blockIdx.x * across + x) * kCount + k;
      if (at >= columns) continue;
      float total = 0;
      for (int y = 0; y < down; ++y) total += shared[((s * kCount + k) * down + y) * across + x];
      partial[(int64_t{blockIdx.y} * kSums + s) * columns + at] = total;
    }
  }
}

constexpr int kFinishRows = 8;

template <int kSums, typename F>
__global__ void FinishColumnsKernel(int columns, int parts, const float* partial, F f) {
  __shared__ double shared[kSums][kFinishRows][32];
  const int column = blockIdx.x * 32 + threadIdx.x;
  double sums[kSums] = {};
  if (column < columns) {
    for (int p = threadIdx.y; p < parts; p += kFinishRows) {
      for (int s = 0; s < kSums; ++s) {
        sums[s] += partial[(int64_t{p} * kSums + s) * columns + column];
      }
    }
  }
  for (int s = 0; s < kSums; ++s) shared[s][threadIdx.y][threadIdx.x] = sums[s];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int s = 0; s < kSums; ++s) {
    for (int y = 1; y < kFinishRows; ++y) sums[s] += shared[s][y][threadIdx.x];
  }
  f(column, sums);
}

// Whether kPack<T> columns can be moved at once.
template <typename T>
bool PacksColumns(const ColumnsView& view) {
  return view.columns % kPack<T> == 0;
}

// Calls f.Row for every element, kCount columns of a row at once, with what f.Begin returned for
// its columns.
template <typename T, typename F>
void ForColumns(const ColumnsView& view, const F& f, cudaStream_t stream) {
  const auto run = [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    const ColumnsGrid g(view, kCount, kApplyBlocks);
    Launch({g.grid, g.block, stream}, ColumnsKernel<kCount, 0, F>, view.rows, view.columns, f,
           nullptr);
  };
  if (PacksColumns<T>(view)) {
    run(std::integral_constant<int, kPack<T>>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

// The same with kSums sums per column to which f.Row adds; then finish(column, sums) per column.
// `scratch`: ColumnSumsBytes.
template <int kSums, typename T, typename F, typename Finish>
void SumColumns(const ColumnsView& view, const F& f, const Finish& finish, void* scratch,
                cudaStream_t stream) {
  float* const partial = static_cast<float*>(scratch);
  int parts = 0;
  const auto run = [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    const ColumnsGrid g(view, kCount, kSumBlocks);
    parts = static_cast<int>(g.grid.y);
    Launch({g.grid, g.block, stream}, ColumnsKernel<kCount, kSums, F>, view.rows, view.columns, f,
           partial);
  };
  if (PacksColumns<T>(view)) {
    run(std::integral_constant<int, kPack<T>>());
  } else {
    run(std::integral_constant<int, 1>());
  }
  Launch({(view.columns + 31) / 32, dim3(32, kFinishRows), stream},
         FinishColumnsKernel<kSums, Finish>, view.columns, parts, partial, finish);
}

}  // namespace gf

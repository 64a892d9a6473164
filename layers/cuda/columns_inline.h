#pragma once

#include "core/cuda/launch_inline.h"
#include "layers/cuda/columns.h"

namespace gf {

// Note [Columns]
// Batch norm, biases and scales process a matrix of rows x columns with values per column. A block
// has a tile of columns and a part of the rows. Each thread holds the values of kCount neighboring
// columns in registers and goes down its rows, F::kRows at a time. It loads all of these rows
// before it uses the first, so that several loads of 16 bytes are in flight. F has
//   static constexpr int kRows    rows that a thread loads at once
//   static constexpr int kBlocks  blocks of a multiprocessor whose registers must fit
//   Begin<kCount>(column)                  the values of columns [column, column + kCount)
//   Load<kCount>(at)                       what Row needs of elements [at, at + kCount)
//   Row<kCount>(values, loaded, at, sums)  computes and stores these elements, adds to the sums
// If there are enough rows, the grid has as many blocks as the GPU runs at a time, or a small
// multiple. Sums over the rows (column_sums_inline.h) have a fixed order that depends on the shape
// and on this number, which is equal for all GPUs of a model.

// Division of a matrix among blocks.
struct ColumnsGrid {
  dim3 block, grid;  // x: columns, y: rows

  // `resident`: number of blocks that the GPU runs at a time. `most_across`: a power of two.
  ColumnsGrid(const ColumnsView& view, int count, unsigned most_across, int64_t resident,
              int64_t most_waves) {
    const int64_t packs = view.columns / count;
    unsigned across = 1;
    while (across < most_across && across < packs) across *= 2;
    block = dim3(across, kThreads / across);
    const int64_t tiles = (packs + across - 1) / across;
    constexpr int64_t kRowsOfAThread = 8;
    const int64_t per_part = kRowsOfAThread * block.y;
    const int64_t most_parts = std::max<int64_t>(1, (view.rows + per_part - 1) / per_part);
    const int64_t waves = std::max<int64_t>(1, std::min(most_waves, tiles * most_parts / resident));
    const int64_t parts = std::min(most_parts, std::max<int64_t>(1, waves * resident / tiles));
    grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(parts));
  }
};

// Division of the rows among gridDim.y parts, computed on the host so that no thread must divide.
// Each part has `each` rows; the first `longer` parts have one more.
struct RowParts {
  int64_t each;
  int longer;

  RowParts(int64_t rows, unsigned parts)
      : each(rows / parts), longer(static_cast<int>(rows % parts)) {}
};

// Number of blocks of this kernel that the current GPU runs at a time.
int64_t ResidentBlocks(const void* kernel);

// Calls f.Row for the rows of this block's part and this thread.
template <int kCount, typename F>
__device__ void ForRows(const F& f, const RowParts& parts, int columns, int column,
                        Floats<kCount>* sums) {
  using Loaded = decltype(f.template Load<kCount>(0));
  const auto values = f.template Begin<kCount>(column);
  const int index = static_cast<int>(blockIdx.y);
  const int64_t begin = index * parts.each + min(index, parts.longer);
  const int part = static_cast<int>(parts.each) + (index < parts.longer ? 1 : 0);
  const int down = static_cast<int>(blockDim.y), y = static_cast<int>(threadIdx.y);
  const int64_t step = int64_t{down} * columns;
  int64_t at = (begin + y) * columns + column;
  int left = part > y ? (part - y - 1) / down + 1 : 0;  // rows of this thread
  for (; left >= F::kRows; left -= F::kRows) {
    Loaded loaded[F::kRows];
#pragma unroll
    for (int r = 0; r < F::kRows; ++r) loaded[r] = f.template Load<kCount>(at + r * step);
#pragma unroll
    for (int r = 0; r < F::kRows; ++r) f.Row(values, loaded[r], at + r * step, sums);
    at += F::kRows * step;
  }
  Loaded rest[F::kRows] = {};
#pragma unroll
  for (int r = 0; r < F::kRows - 1; ++r) {
    if (r < left) rest[r] = f.template Load<kCount>(at + r * step);
  }
#pragma unroll
  for (int r = 0; r < F::kRows - 1; ++r) {
    if (r < left) f.Row(values, rest[r], at + r * step, sums);
  }
}

template <int kCount, typename F>
__global__ void __launch_bounds__(kThreads, F::kBlocks)
    ColumnsKernel(RowParts parts, int columns, F f) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kCount;
  if (column < columns) ForRows<kCount>(f, parts, columns, column, nullptr);
}

// Calls run(n), where n is the number of columns of T that a thread moves at once, as a type.
template <typename T, typename Run>
void WithColumnCount(const ColumnsView& view, const Run& run) {
  if (view.columns % kPack<T> == 0) {
    run(std::integral_constant<int, kPack<T>>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

// Calls f.Row for every element.
template <typename T, typename F>
void ForColumns(const ColumnsView& view, const F& f, cudaStream_t stream) {
  WithColumnCount<T>(view, [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    constexpr int64_t kWaves = 4;  // more blocks than fit: a finished block is replaced by another
    const auto kernel = ColumnsKernel<kCount, F>;
    static const int64_t resident = ResidentBlocks(reinterpret_cast<const void*>(kernel));
    const ColumnsGrid g(view, kCount, 32, resident, kWaves);
    Launch({g.grid, g.block, stream}, kernel, RowParts(view.rows, g.grid.y), view.columns, f);
  });
}

}  // namespace gf

#pragma once

#include <cstring>
#include <type_traits>

#include "core/cuda/launch_inline.h"
#include "layers/cuda/columns.h"

namespace gf {

// StoreFloats to global memory. Packs of 16 bytes are stored by an intrinsic: where the compiler
// knows some elements earlier than others, it would split the store into stores of 2 or 4 bytes.
template <int kCount, typename T>
__device__ inline void StoreAtOnce(T* p, const Floats<kCount>& x) {
#ifdef __CUDA_ARCH__
  Pack<T, kCount> pack;
  if constexpr (sizeof(pack) == sizeof(uint4)) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) pack.v[k] = FromFloat<T>(x.v[k]);
    uint4 words;
    memcpy(&words, &pack, sizeof(words));
    __stwb(reinterpret_cast<uint4*>(p), words);
    return;
  }
#endif
  StoreFloats(p, x);
}

// Note [Columns]
// Batch norm, biases and scales process a matrix of rows x columns with values per column. A block
// has a tile of columns and some of the rows. Each thread holds the values of kCount neighboring
// columns in registers and goes through its rows, F::kRows at a time. It loads all of these rows
// before it uses the first, so that several loads of 16 bytes are in flight. F has
//   static constexpr int kRows    rows that a thread loads at once
//   static constexpr int kBlocks  blocks of a multiprocessor whose registers must fit
//   Begin<kCount>(column)                  the values of columns [column, column + kCount)
//   Load<kCount>(at)                       what Row needs of elements [at, at + kCount)
//   Row<kCount>(values, loaded, at, sums)  computes and stores these elements, adds to the sums
// For ForColumns it may also have
//   Prepare(first, tile, columns)          all threads call it before their rows and a barrier;
//                                          the block has the columns [first, first + tile)
// If there are enough rows, the grid has as many blocks as the GPU runs at a time. Sums over the
// rows (column_sums_inline.h) have a fixed order that depends on the shape and on this number,
// which is equal for all GPUs of a model.

// Note [Order of rows]
// All blocks work on neighboring rows, a window that moves over the matrix. Sums begin with the
// last window, other passes with the first one: a pass that follows sums, and sums that follow the
// kernel that wrote the matrix, begin with rows that are still in the L2 cache.
enum class RowOrder { kFirstToLast, kLastToFirst };

// Division of a matrix among blocks.
struct ColumnsGrid {
  dim3 block, grid;  // x: columns, y: rows

  // `resident`: number of blocks that the GPU runs at a time. `most_across`: a power of two.
  ColumnsGrid(const ColumnsView& view, int count, unsigned most_across, int64_t resident) {
    const int64_t packs = view.columns / count;
    unsigned across = 1;
    while (across < most_across && across < packs) across *= 2;
    block = dim3(across, kThreads / across);
    const int64_t tiles = (packs + across - 1) / across;
    constexpr int64_t kRowsOfAThread = 8;
    const int64_t per_part = kRowsOfAThread * block.y;
    const int64_t most_parts = std::max<int64_t>(1, (view.rows + per_part - 1) / per_part);
    const int64_t parts = std::min(most_parts, std::max<int64_t>(1, resident / tiles));
    grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(parts));
  }
};

// Division of the rows among gridDim.y parts. In each of the windows every thread has `at_once`
// rows. The rows after them are fewer than a window: each part has `each` of them, the first
// `longer` parts one more. All numbers that the threads need are computed on the host: arguments of
// a kernel take no registers.
struct RowParts {
  int64_t step, window;  // elements from a row of a thread to the next one, and to the next window
  int64_t end;           // elements of all windows
  int each, longer;

  RowParts(const ColumnsView& view, const ColumnsGrid& g, int at_once)
      : step(int64_t{g.block.y} * view.columns), window(step * at_once * g.grid.y) {
    const int64_t rows = int64_t{g.grid.y} * g.block.y * at_once;
    end = view.rows / rows * window;
    each = static_cast<int>(view.rows % rows / g.grid.y);
    longer = static_cast<int>(view.rows % rows % g.grid.y);
  }
};

// Number of blocks of this kernel that the current GPU runs at a time.
int64_t ResidentBlocks(const void* kernel);

// Calls f.Row for those rows after the windows that this thread has, half as many at once as in a
// window: this code must not need more registers than the loop over the windows.
template <int kCount, typename F, typename Values>
__device__ void ForLastRows(const F& f, const Values& values, const RowParts& parts, int columns,
                            int column, Floats<kCount>* sums) {
  constexpr int kRows = (F::kRows + 1) / 2, kTimes = (F::kRows + kRows - 1) / kRows;
  const int index = static_cast<int>(blockIdx.y), down = static_cast<int>(blockDim.y);
  int row = index * parts.each + min(index, parts.longer) + static_cast<int>(threadIdx.y);
  const int end = (index + 1) * parts.each + min(index + 1, parts.longer);
  int64_t at = parts.end + int64_t{row} * columns + column;
#pragma unroll
  for (int time = 0; time < kTimes; ++time) {
    decltype(f.template Load<kCount>(0)) loaded[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (row + r * down < end) loaded[r] = f.template Load<kCount>(at + r * parts.step);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (row + r * down < end) f.Row(values, loaded[r], at + r * parts.step, sums);
    }
    row += kRows * down;
    at += kRows * parts.step;
  }
}

// Calls f.Row for the rows of this thread.
template <int kCount, RowOrder kOrder, typename F>
__device__ void ForRows(const F& f, const RowParts& parts, int columns, int column,
                        Floats<kCount>* sums) {
  constexpr bool kUp = kOrder == RowOrder::kLastToFirst;
  const auto values = f.template Begin<kCount>(column);
  int64_t at = blockIdx.y * F::kRows * parts.step + int64_t{threadIdx.y} * columns + column;
  if (kUp) at += parts.end - parts.window;
#pragma unroll 1
  while (kUp ? at >= 0 : at < parts.end) {
    decltype(f.template Load<kCount>(0)) loaded[F::kRows];
#pragma unroll
    for (int r = 0; r < F::kRows; ++r) loaded[r] = f.template Load<kCount>(at + r * parts.step);
#pragma unroll
    for (int r = 0; r < F::kRows; ++r) f.Row(values, loaded[r], at + r * parts.step, sums);
    at += kUp ? -parts.window : parts.window;
  }
  ForLastRows(f, values, parts, columns, column, sums);
}

template <typename F, typename = void>
constexpr bool kPrepares = false;
template <typename F>
constexpr bool kPrepares<F, std::void_t<decltype(&F::Prepare)>> = true;

template <int kCount, typename F>
__global__ void __launch_bounds__(kThreads, F::kBlocks)
    ColumnsKernel(RowParts parts, int columns, F f) {
  if constexpr (kPrepares<F>) {
    const int tile = static_cast<int>(blockDim.x) * kCount;
    f.Prepare(static_cast<int>(blockIdx.x) * tile, tile, columns);
    __syncthreads();
  }
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kCount;
  if (column >= columns) return;
  ForRows<kCount, RowOrder::kFirstToLast>(f, parts, columns, column, nullptr);
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

// Calls f.Row for every element; a thread moves kCount columns at once, which divides their number.
template <int kCount, typename F>
void ForColumnsBy(const ColumnsView& view, const F& f, cudaStream_t stream) {
  const auto kernel = ColumnsKernel<kCount, F>;
  static const int64_t resident = ResidentBlocks(reinterpret_cast<const void*>(kernel));
  const ColumnsGrid g(view, kCount, 32, resident);
  Launch({g.grid, g.block, stream}, kernel, RowParts(view, g, F::kRows), view.columns, f);
}

template <typename T, typename F>
void ForColumns(const ColumnsView& view, const F& f, cudaStream_t stream) {
  WithColumnCount<T>(view,
                     [&](auto count) { ForColumnsBy<decltype(count)::value>(view, f, stream); });
}

}  // namespace gf

#pragma once

// Computes sums per column of a matrix, and results from these sums, in one kernel. See Note
// [Columns].

#include "layers/cuda/columns_inline.h"

namespace gf {

// Note [Last block]
// A block adds up its part of the rows, writes kSums sums per column of its tile to scratch memory
// and increments the tile's counter. The block that completes the count adds up the parts, always
// in the same order, and finishes the columns. The counter is then 0 again, because atomicInc wraps
// around. Thread 0 executes fences before and after the increment; together with the barriers
// around them, they order the writes of all threads before the last block's reads.

// Number of threads side by side in a block, each with `count` columns: rows of 128 bytes in packs
// of 16. Narrow tiles leave few sums to the last block of each tile.
constexpr unsigned SumsAcross(int count) { return count > 1 ? 8 : 32; }

// Whether this block is the last of its tile to call this function. If so, it sees the writes of
// the others.
__device__ inline bool ArrivesLast(unsigned* arrived) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicInc(arrived + blockIdx.x, gridDim.y - 1) == gridDim.y - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Sums over the threads of a block in FP32, starting with the first row: thread i returns element i
// of [kSums][columns of the tile]. `shared`: [blockDim.y][kSums][columns of the tile].
template <int kCount, int kSums>
__device__ float SumOverThreads(const Floats<kCount>* sums, float* shared) {
  const unsigned tile = blockDim.x * kCount, thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    StoreFloats(shared + (threadIdx.y * kSums + s) * tile + threadIdx.x * kCount, sums[s]);
  }
  __syncthreads();
  float total = 0;
  if (thread < kSums * tile) {
#pragma unroll 8
    for (unsigned y = 0; y < blockDim.y; ++y) total += shared[y * kSums * tile + thread];
  }
  return total;
}

// Sums over the parts: groups of four in FP32, their sums in double. `partial`: [parts][width].
// Each thread handles kVector neighbors of every groups-th part and writes shared[group][width].
// Returns the number of groups.
template <int kVector>
__device__ unsigned SumOverParts(const float* partial, unsigned parts, unsigned width,
                                 double* shared) {
  constexpr unsigned kAtOnce = 4;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned across = width / kVector, groups = kThreads / across;
  const unsigned group = thread / across, at = thread % across * kVector;
  double sums[kVector] = {};
  for (unsigned first = group; first < parts; first += kAtOnce * groups) {
    Floats<kVector> v[kAtOnce] = {};
#pragma unroll
    for (unsigned r = 0; r < kAtOnce; ++r) {
      const unsigned part = first + r * groups;
      if (part < parts) v[r] = LoadFloats<kVector>(partial + part * width + at);
    }
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      sums[k] += (v[0].v[k] + v[1].v[k]) + (v[2].v[k] + v[3].v[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kVector; ++k) shared[group * width + at + k] = sums[k];
  return groups;
}

template <int kCount, int kSums, typename F, typename Finish>
__global__ void __launch_bounds__(kThreads, F::kBlocks)
    SumColumnsKernel(RowParts parts, int columns, F f, Finish finish, float* partial,
                     unsigned* arrived) {
  constexpr int kVector = std::min(kCount, 4);
  // Holds FP32 numbers of all threads, later doubles.
  alignas(32) __shared__ double shared[kThreads * std::max((kSums * kCount + 1) / 2, kVector)];
  static_assert(sizeof(shared) >= kThreads * kSums * kCount * sizeof(float));
  const unsigned tile = blockDim.x * kCount, thread = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned width = kSums * tile;
  const int first = static_cast<int>(blockIdx.x * tile);

  Floats<kCount> sums[kSums] = {};
  const int own = first + static_cast<int>(threadIdx.x) * kCount;
  if (own < columns) ForRows<kCount, RowOrder::kLastToFirst>(f, parts, columns, own, sums);
  const float sum = SumOverThreads<kCount, kSums>(sums, reinterpret_cast<float*>(shared));
  unsigned groups = 1;
  if (gridDim.y > 1) {
    partial += int64_t{blockIdx.x} * gridDim.y * width;
    if (thread < width) partial[blockIdx.y * width + thread] = sum;
    if (!ArrivesLast(arrived)) return;
    groups = SumOverParts<kVector>(partial, gridDim.y, width, shared);
  } else {
    __syncthreads();
    if (thread < width) shared[thread] = sum;
  }
  __syncthreads();
  const int column = first + static_cast<int>(thread);
  if (thread >= tile || column >= columns) return;
  double totals[kSums] = {};
  for (unsigned group = 0; group < groups; ++group) {
#pragma unroll
    for (int s = 0; s < kSums; ++s) totals[s] += shared[(group * kSums + s) * tile + thread];
  }
  finish(column, totals);
}

// Calls f.Row for every element, which adds to kSums sums per column, then finish(column, sums) for
// each column. A thread moves kCount columns at once, which divides their number. `memory`: for
// kSums sums.
template <int kSums, int kCount, typename F, typename Finish>
void SumColumnsBy(const ColumnsView& view, const F& f, const Finish& finish,
                  const ColumnSumsMemory& memory, cudaStream_t stream) {
  const auto kernel = SumColumnsKernel<kCount, kSums, F, Finish>;
  static const int64_t resident = ResidentBlocks(reinterpret_cast<const void*>(kernel));
  const ColumnsGrid g(view, kCount, SumsAcross(kCount), resident);
  Launch({g.grid, g.block, stream}, kernel, RowParts(view, g, F::kRows), view.columns, f, finish,
         static_cast<float*>(memory.partial), static_cast<unsigned*>(memory.arrived));
}

template <int kSums, typename T, typename F, typename Finish>
void SumColumns(const ColumnsView& view, const F& f, const Finish& finish,
                const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithColumnCount<T>(view, [&](auto count) {
    SumColumnsBy<kSums, decltype(count)::value>(view, f, finish, memory, stream);
  });
}

}  // namespace gf

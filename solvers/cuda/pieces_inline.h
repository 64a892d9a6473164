#pragma once

#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "solvers/cuda/update_kernels.h"

// Work on pieces of the pools, one block each; for *_kernels.cu.
namespace gf {

// Calls f.Run<n>(i) for this block's elements of [begin, end). n is 4 for aligned i, otherwise 1.
template <typename F>
inline __device__ void ForElements(int64_t begin, int64_t end, F&& f) {
  const int64_t packs = begin % 4 == 0 && begin < end ? (end - begin) / 4 : 0;
  for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) f.template Run<4>(begin + 4 * i);
  for (int64_t i = begin + 4 * packs + threadIdx.x; i < end; i += blockDim.x) {
    f.template Run<1>(i);
  }
}

// Calls use(begin, end) for the parts of a piece that are in the ranges.
template <typename Use>
inline __device__ void ForRanges(const PoolPiece& piece, const RangeList& list, Use&& use) {
  // The first range that ends after the beginning of the piece.
  const int64_t count = *list.count;
  int64_t at = 0, end = count;
  while (at < end) {
    const int64_t middle = (at + end) / 2;
    if (list.ranges[middle].end <= piece.begin) {
      at = middle + 1;
    } else {
      end = middle;
    }
  }
  for (; at < count && list.ranges[at].begin < piece.end; ++at) {
    const ElementRange range = list.ranges[at];
    use(max(piece.begin, range.begin), min(piece.end, range.end));
  }
}

// ForElements of these parts.
template <typename F>
inline __device__ void ForPiece(const PoolPiece& piece, const RangeList& list, F&& f) {
  ForRanges(piece, list, [&](int64_t begin, int64_t end) { ForElements(begin, end, f); });
}

// Whether this step must not change weights.
inline __device__ bool Skipped(const UpdatePools& pools) {
  return pools.numbers->only_if_finite && *pools.bad != 0;
}

// Sums of squares of a thread's elements.
struct Squares {
  float first = 0, second = 0;

  template <int kCount>
  __device__ void Add(const Floats<kCount>& a, const Floats<kCount>& b) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      first += a.v[k] * a.v[k];
      second += b.v[k] * b.v[k];
    }
  }
};

// Adds the block's squares to its piece. Thread 0 returns whether they are finite; other threads
// return true.
inline __device__ bool AddToPiece(const UpdatePools& pools, int piece, const Squares& squares) {
  const double first = BlockSum(static_cast<double>(squares.first));
  const double second = BlockSum(static_cast<double>(squares.second));
  if (threadIdx.x != 0) return true;
  pools.sums[2 * piece] += first;
  pools.sums[2 * piece + 1] += second;
  return isfinite(first) && isfinite(second);
}

// Writes the new weights to both pools.
template <int kCount, typename T>
inline __device__ void StoreWeights(const UpdatePools& pools, int64_t i, const Floats<kCount>& w) {
  StoreFloats(pools.weights + i, w);
  if (pools.compute != nullptr) StoreFloats(static_cast<T*>(pools.compute) + i, w);
}

// Calls launch(value of the gradients' type, shape with one block per piece) if there are pieces.
template <typename F>
void ForType(const UpdatePools& pools, const RangeList& list, cudaStream_t stream,
             const F& launch) {
  const int blocks = list.last_piece - list.first_piece;
  if (blocks <= 0) return;
  WithType(pools.type, [&](auto t) { launch(t, LaunchShape(blocks, kThreads, stream)); });
}

}  // namespace gf

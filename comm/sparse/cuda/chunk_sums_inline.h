#pragma once

#include <cmath>

#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"

namespace gf {

// Note [The processor's norms on a GPU]
// One block per chunk, so that sums need no atomic operations. Within a chunk magnitudes are added
// in the order of Note [Norms with the same bits]: a thread has kCount neighbors of the kSums
// partial sums of kBlock elements, and takes their elements kCount at a time, in order.
// The processor adds the partial sums in double one after the other. They are multiples of some
// unit, a power of 2. While sums stay below 2^53 units every addition is exact in any order, so
// that a tree gives the processor's bits: rounded sums only grow, and the first one that is not
// exact is at least 2^53 units. Where the tree's sum is, one thread adds in the processor's order.
constexpr int kSums = 32, kChunkThreads = 64;
constexpr int64_t kBlock = 128 * kSums;

// For the packs of kCount elements at begin, begin + step, ..., and what of the last one lies below
// `end`: v = run.Load<n>(i), run.Store(i, v), and add(k, element i + k). Several packs are loaded
// before the first is stored, which hides the memory's latency.
template <int kCount, typename Run, typename Add>
__device__ void ForPacks(int64_t begin, int64_t end, int step, const Run& run, const Add& add) {
  constexpr int kAhead = Run::kAhead;
  const auto take = [&](int64_t i, const Floats<kCount>& v) {
    run.Store(i, v);
#pragma unroll
    for (int k = 0; k < kCount; ++k) add(k, v.v[k]);
  };
  int64_t i = begin;
  for (; i + (kAhead - 1) * step + kCount <= end; i += kAhead * step) {
    Floats<kCount> v[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) v[a] = run.template Load<kCount>(i + a * step);
#pragma unroll
    for (int a = 0; a < kAhead; ++a) take(i + a * step, v[a]);
  }
  for (; i + kCount <= end; i += step) take(i, run.template Load<kCount>(i));
#pragma unroll
  for (int k = 0; k + 1 < kCount; ++k) {
    if (i + k >= end) continue;
    const Floats<1> v = run.template Load<1>(i + k);
    run.Store(i + k, v);
    add(k, v.v[0]);
  }
}

// The sum of partial sums, in the processor's order or with its bits.
class OrderedTotal {
 public:
  // Adds kCount partial sums of each thread to the total, those of lower threads first. They are
  // not negative. All threads of the block take part.
  template <int kCount>
  __device__ void Add(const Floats<kCount>& sums) {
    double own = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      own += static_cast<double>(sums.v[k]);
      // A float of exponent e is a multiple of 2^(e - 150); subnormal ones of that with e = 1.
      const int exponent = static_cast<int>(__float_as_uint(sums.v[k]) >> 23 & 255);
      if (sums.v[k] != 0) lowest_ = min(lowest_, max(exponent, 1));
    }
    lowest_ = BlockReduce(lowest_, [](int a, int b) { return min(a, b); });
    const double tree = total_ + BlockSum(own);
    if (tree < ldexp(1., lowest_ - 150 + 53)) {
      total_ = tree;
      return;
    }
    lowest_ = kNoUnit;  // the total may be a multiple of none
    __shared__ float all[kChunkThreads * kCount];
    __shared__ double in_order;
#pragma unroll
    for (int k = 0; k < kCount; ++k) all[threadIdx.x * kCount + k] = sums.v[k];
    __syncthreads();
    if (threadIdx.x == 0) {
      in_order = total_;
      for (int i = 0; i < kChunkThreads * kCount; ++i) in_order += static_cast<double>(all[i]);
    }
    __syncthreads();
    total_ = in_order;
  }

  __device__ double total() const { return total_; }

 private:
  static constexpr int kNoUnit = -2000;

  double total_ = 0;
  int lowest_ = 255;  // exponent of the unit
};

// The sum of the magnitudes of run.Load over elements 0 .. count - 1, to every thread of the block;
// each value is given to run.Store.
template <int kCount, typename Run>
__device__ double SumOfMagnitudes(int64_t count, const Run& run) {
  constexpr int kThreadsOfBlock = kSums / kCount;
  constexpr int64_t kRound = kChunkThreads / kThreadsOfBlock * kBlock;
  const int place = static_cast<int>(threadIdx.x) % kThreadsOfBlock * kCount;
  OrderedTotal total;
  for (int64_t round = 0; round < count; round += kRound) {
    const int64_t begin = round + threadIdx.x / kThreadsOfBlock * kBlock;
    Floats<kCount> sums = {};
    ForPacks<kCount>(begin + place, min(begin + kBlock, count), kSums, run,
                     [&](int k, float v) { sums.v[k] += fabsf(v); });
    total.Add(sums);
  }
  return total.total();
}

}  // namespace gf

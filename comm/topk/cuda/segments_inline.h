#pragma once

#include "core/cuda/launch_inline.h"

namespace gf {

// Threads of a block that handles a segment.
constexpr int kSegmentThreads = 512;

// Calls f.Run<n>(i) for the block's elements of [begin, end); n is 4 for what lies at multiples of
// four elements, otherwise 1. Tensors begin at such multiples.
template <typename F>
__device__ void ForSegment(int64_t begin, int64_t end, F& f) {
  const int64_t packs = (end - begin) / 4;
  // An unrolled loop would begin with a division to find the number of steps.
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) f.template Run<4>(begin + 4 * i);
#pragma unroll 1
  for (int64_t i = begin + 4 * packs + threadIdx.x; i < end; i += blockDim.x) {
    f.template Run<1>(i);
  }
}

__device__ inline uint32_t MagnitudeOf(float x) { return __float_as_uint(x) & 0x7fffffffu; }

}  // namespace gf

#pragma once

#include <cuda_runtime.h>

namespace gf {

// Reductions over the threads of a warp, or of a one-dimensional block whose size is a multiple of
// 32. All threads must call them, and every thread gets the result. The order of operations is
// fixed.
template <typename T, typename F>
__device__ T WarpReduce(T value, const F& combine) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T, typename F>
__device__ T BlockReduce(T value, const F& combine) {
  __shared__ T warps[32];
  value = WarpReduce(value, combine);
  __syncthreads();  // threads may still read the results of an earlier reduction
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  T result = warps[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) result = combine(result, warps[w]);
  return result;
}

template <typename T>
__device__ T WarpSum(T value) {
  return WarpReduce(value, [](T a, T b) { return a + b; });
}

template <typename T>
__device__ T BlockSum(T value) {
  return BlockReduce(value, [](T a, T b) { return a + b; });
}

__device__ inline float BlockMax(float value) {
  return BlockReduce(value, [](float a, float b) { return fmaxf(a, b); });
}

}  // namespace gf

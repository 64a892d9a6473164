#include "core/cuda/launch_inline.h"
#include "solvers/adaptive_inline.h"
#include "solvers/cuda/pool_kernels.h"

namespace gf {
namespace {

template <typename T, bool kMerge>
struct Accumulate {
  T* gradients;
  float* sums;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> g = LoadFloats<kCount>(gradients + i), sum = LoadFloats<kCount>(sums + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      sum.v[k] += g.v[k];
      g.v[k] = 0;
    }
    if (kMerge) {
      StoreFloats(gradients + i, sum);
      StoreFloats(sums + i, g);
    } else {
      StoreFloats(sums + i, sum);
    }
  }
};

struct Mean {
  const float* pool;
  float share;
  float* mean;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> x = LoadFloats<kCount>(pool + i);
    Floats<kCount> result = LoadFloats<kCount>(mean + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) result.v[k] = MovedTo(x.v[k], share, result.v[k]);
    StoreFloats(mean + i, result);
  }
};

template <bool kMerge>
void RunAccumulate(DType type, void* gradients, float* sums, int64_t count, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Elementwise<4>(count, Accumulate<T, kMerge>{static_cast<T*>(gradients), sums}, stream);
  });
}

}  // namespace

void AddGradients(DType type, const void* gradients, float* sums, int64_t count,
                  cudaStream_t stream) {
  RunAccumulate<false>(type, const_cast<void*>(gradients), sums, count, stream);
}

void MergeGradients(DType type, void* gradients, float* sums, int64_t count, cudaStream_t stream) {
  RunAccumulate<true>(type, gradients, sums, count, stream);
}

void AverageWeights(const float* pool, float share, float* mean, int64_t count,
                    cudaStream_t stream) {
  Elementwise<4>(count, Mean{pool, share, mean}, stream);
}

}  // namespace gf

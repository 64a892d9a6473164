#include "core/cuda/launch_inline.h"
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

template <typename T>
struct Check {
  const T* gradients;
  int* bad;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> g = LoadFloats<kCount>(gradients + i);
    bool finite = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) finite = finite && isfinite(g.v[k]);
    if (!finite) *bad = 1;
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

void FindNotFinite(DType type, const void* gradients, int64_t count, int* bad,
                   cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Check<T> check = {static_cast<const T*>(gradients), bad};
    ElementwiseFrom(count, check, stream, check.gradients);
  });
}

}  // namespace gf

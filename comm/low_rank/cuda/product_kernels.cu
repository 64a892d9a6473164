#include "comm/low_rank/cuda/low_rank_kernels.h"
#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

// Columns of the factors that a thread handles together.
constexpr int kFactors = 4;
// A block of CorrelateKernel: columns of the matrix, and groups of its rows.
constexpr int kColumns = 32, kGroups = 8;

template <typename G>
struct AddRun {
  const G* g;
  float* h;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> gradient = LoadFloats<kCount>(g + i);
    Floats<kCount> x = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) x.v[k] += gradient.v[k];
    StoreFloats(h + i, x);
  }
};

template <typename G>
struct MergeRun {
  G* g;
  float* h;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> gradient = LoadFloats<kCount>(g + i);
    const Floats<kCount> x = LoadFloats<kCount>(h + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) gradient.v[k] += x.v[k];
    StoreFloats(g + i, gradient);
    StoreFloats(h + i, Floats<kCount>());
  }
};

// One block per row.
__global__ void __launch_bounds__(kThreads) ProjectKernel(const float* m, GpuFactors f) {
  const float* const row = m + blockIdx.x * f.columns;
  for (int first = 0; first < f.rank; first += kFactors) {
    float sums[kFactors] = {};
#pragma unroll 1
    for (int64_t j = threadIdx.x; j < f.columns; j += blockDim.x) {
      const float v = row[j];
#pragma unroll
      for (int k = 0; k < kFactors; ++k) {
        if (first + k < f.rank) sums[k] += v * f.right[(first + k) * f.columns + j];
      }
    }
#pragma unroll
    for (int k = 0; k < kFactors; ++k) {
      const float sum = BlockSum(sums[k]);
      if (threadIdx.x == 0 && first + k < f.rank) {
        f.left[(first + k) * f.rows + blockIdx.x] = sum;
      }
    }
  }
}

// One block per kColumns columns; a warp has every kGroups-th row.
__global__ void __launch_bounds__(kColumns* kGroups) CorrelateKernel(const float* m, GpuFactors f) {
  __shared__ float sums[kFactors][kGroups][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kColumns;
  const int group = static_cast<int>(threadIdx.x) / kColumns;
  const int64_t j = int64_t{blockIdx.x} * kColumns + lane;
  const bool bad = isnan(f.left[0]);
  for (int first = 0; first < f.rank; first += kFactors) {
    float own[kFactors] = {};
    if (j < f.columns) {
#pragma unroll 1
      for (int64_t i = group; i < f.rows; i += kGroups) {
        const float v = m[i * f.columns + j];
#pragma unroll
        for (int k = 0; k < kFactors; ++k) {
          if (first + k < f.rank) own[k] += v * f.left[(first + k) * f.rows + i];
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kFactors; ++k) sums[k][group][lane] = own[k];
    __syncthreads();
    if (!bad && group < kFactors && first + group < f.rank && j < f.columns) {
      float sum = 0;
      for (int g = 0; g < kGroups; ++g) sum += sums[group][g][lane];
      f.right[(first + group) * f.columns + j] = sum;
    }
    __syncthreads();
  }
}

// left[row] times transposed(right)[j], added in order.
__device__ float Product(const GpuFactors& f, int64_t row, int64_t j) {
  float sum = 0;
  for (int k = 0; k < f.rank; ++k) {
    sum = __fadd_rn(sum, __fmul_rn(f.left[k * f.rows + row], f.right[k * f.columns + j]));
  }
  return sum;
}

// One block per row.
__global__ void __launch_bounds__(kThreads) SubtractKernel(float* m, GpuFactors f) {
  float* const row = m + blockIdx.x * f.columns;
  const bool bad = isnan(f.left[0]);
#pragma unroll 1
  for (int64_t j = threadIdx.x; j < f.columns; j += blockDim.x) {
    if (!bad) {
      row[j] -= Product(f, blockIdx.x, j);
    } else if (!isfinite(row[j])) {
      row[j] = 0;
    }
  }
}

// One block per row.
__global__ void __launch_bounds__(kThreads) ExpandKernel(float* m, GpuFactors f) {
  float* const row = m + blockIdx.x * f.columns;
#pragma unroll 1
  for (int64_t j = threadIdx.x; j < f.columns; j += blockDim.x) row[j] = Product(f, blockIdx.x, j);
}

}  // namespace

void AddGradients(const void* gradients, DType type, float* residual, int64_t count,
                  cudaStream_t stream) {
  WithType(type, [&](auto t) {
    const auto* const g = static_cast<const decltype(t)*>(gradients);
    ElementwiseFrom(count, AddRun<decltype(t)>{g, residual}, stream, g, residual);
  });
}

void MergeResidualInto(void* gradients, DType type, float* residual, int64_t count,
                       cudaStream_t stream) {
  WithType(type, [&](auto t) {
    auto* const g = static_cast<decltype(t)*>(gradients);
    ElementwiseFrom(count, MergeRun<decltype(t)>{g, residual}, stream, g, residual);
  });
}

void ProjectMatrix(const float* m, const GpuFactors& f, cudaStream_t stream) {
  Launch({f.rows, kThreads, stream}, ProjectKernel, m, f);
}

void CorrelateMatrix(float* m, const GpuFactors& f, cudaStream_t stream) {
  const int64_t blocks = (f.columns + kColumns - 1) / kColumns;
  Launch({blocks, kColumns * kGroups, stream}, CorrelateKernel, m, f);
  Launch({f.rows, kThreads, stream}, SubtractKernel, m, f);
}

void ExpandMatrix(float* m, const GpuFactors& f, cudaStream_t stream) {
  Launch({f.rows, kThreads, stream}, ExpandKernel, m, f);
}

}  // namespace gf

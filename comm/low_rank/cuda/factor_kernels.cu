#include <limits>

#include "comm/low_rank/cuda/low_rank_kernels.h"
#include "comm/low_rank/start_inline.h"
#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

constexpr int kFactorThreads = 512;
// See kDependent in comm/low_rank/orthonormal.cc.
constexpr double kDependent = 1e-5;

// The sum of a[i] * b[i], to every thread of the block.
__device__ double Dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return BlockSum(sum);
}

// One block per column.
__global__ void __launch_bounds__(kFactorThreads)
    NormalizeKernel(GpuFactors f, int64_t step, int64_t first_column) {
  float* const column = f.right + blockIdx.x * f.columns;
  const double norm = sqrt(Dot(column, column, f.columns));
  const bool usable = norm > 0 && isfinite(norm);
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < f.columns; i += blockDim.x) {
    column[i] = usable ? static_cast<float>(static_cast<double>(column[i]) / norm)
                       : RandomFactor(step, first_column + blockIdx.x, i);
  }
}

// One block.
__global__ void __launch_bounds__(kFactorThreads) OrthonormalKernel(GpuFactors f) {
  for (int k = 0; k < f.rank; ++k) {
    float* const column = f.left + k * f.rows;
    const double before = sqrt(Dot(column, column, f.rows));
    if (!isfinite(before)) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < f.rank * f.rows; i += blockDim.x) {
        f.left[i] = std::numeric_limits<float>::quiet_NaN();
      }
      return;
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (int e = 0; e < k; ++e) {
        const float* const earlier = f.left + e * f.rows;
        const double share = Dot(earlier, column, f.rows);
#pragma unroll 1
        for (int64_t i = threadIdx.x; i < f.rows; i += blockDim.x) {
          column[i] = static_cast<float>(static_cast<double>(column[i]) -
                                         share * static_cast<double>(earlier[i]));
        }
      }
    }
    const double after = sqrt(Dot(column, column, f.rows));
    const double scale = after > kDependent * before ? 1 / after : 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < f.rows; i += blockDim.x) {
      column[i] = static_cast<float>(scale * static_cast<double>(column[i]));
    }
  }
}

}  // namespace

void NormalizeRight(const GpuFactors& f, int64_t step, int64_t first_column, cudaStream_t stream) {
  Launch({f.rank, kFactorThreads, stream}, NormalizeKernel, f, step, first_column);
}

void OrthonormalizeLeft(const GpuFactors& f, cudaStream_t stream) {
  Launch({1, kFactorThreads, stream}, OrthonormalKernel, f);
}

}  // namespace gf

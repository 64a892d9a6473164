#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A matrix and its factors in the GPU's memory, see LowRankMatrix: row-major [rows][columns],
// [rank][rows] and [rank][columns].
struct GpuFactors {
  int64_t rows, columns;
  int rank;
  float* left;
  float* right;
};

// See Note [Low rank]; enqueued on the stream.

// NormalizeColumns of the right factor; `first_column`: number of its first column.
void NormalizeRight(const GpuFactors& f, int64_t step, int64_t first_column, cudaStream_t stream);
// MakeOrthonormal of the left factor.
void OrthonormalizeLeft(const GpuFactors& f, cudaStream_t stream);

// residual[i] += gradients[i]; gradients[i] += residual[i] and residual[i] = 0.
void AddGradients(const void* gradients, DType type, float* residual, int64_t count,
                  cudaStream_t stream);
void MergeResidualInto(void* gradients, DType type, float* residual, int64_t count,
                       cudaStream_t stream);

// left = m * right
void ProjectMatrix(const float* m, const GpuFactors& f, cudaStream_t stream);
// right = transposed(m) * left; m -= left * transposed(right). If `left` is NaN, only what is not
// finite in m becomes 0.
void CorrelateMatrix(float* m, const GpuFactors& f, cudaStream_t stream);
// m = left * transposed(right), added in order, without fused multiply-add.
void ExpandMatrix(float* m, const GpuFactors& f, cudaStream_t stream);

}  // namespace gf

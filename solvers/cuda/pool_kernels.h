#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// PoolArithmetic::Add and Merge for `count` FP32 sums and gradients of `type`.
void AddGradients(DType type, const void* gradients, float* sums, int64_t count,
                  cudaStream_t stream);
void MergeGradients(DType type, void* gradients, float* sums, int64_t count, cudaStream_t stream);
// PoolArithmetic::Average of `count` elements.
void AverageWeights(const float* pool, float share, float* mean, int64_t count,
                    cudaStream_t stream);

}  // namespace gf

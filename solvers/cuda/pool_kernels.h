#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Of FP32 sums and gradients of `type`, `count` elements each.
void AddGradients(DType type, const void* gradients, float* sums, int64_t count,
                  cudaStream_t stream);
void MergeGradients(DType type, void* gradients, float* sums, int64_t count, cudaStream_t stream);
// *bad = 1 if an element is infinite or NaN; else it stays.
void FindNotFinite(DType type, const void* gradients, int64_t count, int* bad, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// to[i] += from[i] for i < count, in FP32 and rounded; both FP32, FP16 or BF16.
void AddElements(DType type, const void* from, void* to, int64_t count, cudaStream_t stream);

}  // namespace gf

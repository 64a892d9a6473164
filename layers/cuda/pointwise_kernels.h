#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/pointwise_inline.h"

namespace gf {

// y = f(x)
void ApplyPointwise(const Pointwise& f, DType type, const void* x, void* y, int64_t count,
                    cudaStream_t stream);
// dx = dy * f'(x); dx may be dy.
void PointwiseGradient(const Pointwise& f, DType type, const void* x, const void* dy, void* dx,
                       int64_t count, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// One launch each; see FeedbackArithmetic. Arrays of `count` elements in the GPU's memory; `wire`
// is BF16 or FP16.
void RoundWithFeedback(float* gradients, float* residual, int64_t count, DType wire,
                       cudaStream_t stream);
// residual[i] *= factor
void RescaleResidual(float* residual, int64_t count, float factor, cudaStream_t stream);

}  // namespace gf

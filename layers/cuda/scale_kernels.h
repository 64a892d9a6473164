#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A tensor viewed as [outer][channels][inner], with one gamma and beta per channel.
struct ScaleView {
  int64_t outer = 0, channels = 0, inner = 0;
};

// y = gamma * x + beta; `gamma` (1) and `beta` (0) may be null.
void ScaleForward(const ScaleView& view, DType type, const void* x, const float* gamma,
                  const float* beta, void* y, cudaStream_t stream);
// dgamma and dbeta have the tensor's type and may be null; without gamma there is no dgamma, and x
// is not read. dx may be null or dy.
void ScaleGradient(const ScaleView& view, DType type, const void* x, const void* dy,
                   const float* gamma, void* dgamma, void* dbeta, void* dx, cudaStream_t stream);

// The same with gamma 1 wherever x is not negative, without beta.
void PreluForward(const ScaleView& view, DType type, const void* x, const float* gamma, void* y,
                  cudaStream_t stream);
void PreluGradient(const ScaleView& view, DType type, const void* x, const void* dy,
                   const float* gamma, void* dgamma, void* dx, cudaStream_t stream);

}  // namespace gf

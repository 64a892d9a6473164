#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/cuda/columns.h"

namespace gf {

// A tensor viewed as [outer][channels][inner]. A row has the numbers of all channels at an index of
// the other two axes.
struct LayerNormRows {
  DType type = DType::kFP32;
  int64_t outer = 0;
  int channels = 0;
  int64_t inner = 0;

  constexpr int64_t rows() const { return outer * inner; }
};

// y = gamma * (x - mean) * inverse_std + beta, where inverse_std = 1 / sqrt(variance + eps). gamma
// and beta have one number per channel and may both be null (1 and 0). mean and inverse_std have
// one number per row and may both be null. y may be x.
void LayerNorm(const LayerNormRows& rows, float eps, const void* x, const float* gamma,
               const float* beta, void* y, float* mean, float* inverse_std, cudaStream_t stream);

// dx may be dy; gamma may be null.
void LayerNormGradient(const LayerNormRows& rows, const void* x, const void* dy, const float* gamma,
                       const float* mean, const float* inverse_std, void* dx, cudaStream_t stream);

// The sums over the rows of dy * (x - mean) * inverse_std and of dy, in the tensor's type and in a
// fixed order. `memory`: for two sums per channel, where `inner` is 1; not used elsewhere.
void LayerNormSums(const LayerNormRows& rows, const void* x, const void* dy, const float* mean,
                   const float* inverse_std, void* dgamma, void* dbeta,
                   const ColumnSumsMemory& memory, cudaStream_t stream);

}  // namespace gf

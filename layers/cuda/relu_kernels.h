#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// y = x > 0 ? x : slope * x
void Relu(DType type, const void* x, void* y, float slope, int64_t count, cudaStream_t stream);
// dx = sign > 0 ? dy : slope * dy
void ReluGradient(DType type, const void* dy, const void* sign, void* dx, float slope,
                  int64_t count, cudaStream_t stream);

enum class Activation { kSigmoid, kTanh };
void Activate(Activation which, DType type, const void* x, void* y, int64_t count,
              cudaStream_t stream);
// Computes dx from the activation's result y.
void ActivationGradient(Activation which, DType type, const void* y, const void* dy, void* dx,
                        int64_t count, cudaStream_t stream);

}  // namespace gf

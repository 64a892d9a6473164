#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/draws.h"

namespace gf {

// A part is an element. keep[i] = 0 or 1; y = keep ? scale * x : 0
void Dropout(DType type, const void* x, void* y, uint8_t* keep, float scale, const KeepDraws& draws,
             int64_t count, cudaStream_t stream);
// dx = keep ? scale * dy : 0
void DropoutGradient(DType type, const void* dy, const uint8_t* keep, void* dx, float scale,
                     int64_t count, cudaStream_t stream);

}  // namespace gf

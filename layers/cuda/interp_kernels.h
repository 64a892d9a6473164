#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/interp_inline.h"

namespace gf {

// Resizing of channels-last images of fewer than 2^31 elements each.
struct InterpImages {
  int64_t n = 0;
  int channels = 0;
  InterpAxis rows, columns;
};

void Interpolate(const InterpImages& images, DType type, const void* x, void* y,
                 cudaStream_t stream);
// Every pixel of dx gathers from the pixels of dy in which it has a share, without atomics.
void InterpolateGradient(const InterpImages& images, DType type, const void* dy, void* dx,
                         cudaStream_t stream);

}  // namespace gf

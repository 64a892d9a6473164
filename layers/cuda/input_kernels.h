#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// y[pixel][c] = (x[pixel][c] - mean[c]) * inverse_std[c] for UINT8 images with the channels last.
void NormaliseImages(const uint8_t* x, int64_t pixels, int channels, const float* mean,
                     const float* inverse_std, DType type, void* y, cudaStream_t stream);

}  // namespace gf

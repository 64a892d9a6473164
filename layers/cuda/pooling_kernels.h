#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Pooling of channels-last images. Index 0: height, 1: width.
struct PoolingImages {
  int64_t n = 0;
  int channels = 0;
  int in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, pad[2] = {};
};

// `taps` holds, for each output, the index (row by row) of the window's largest tap: one byte if
// the window has at most 256 taps, otherwise two. It may be null in forward. NaN counts as the
// largest.
void MaxPool(const PoolingImages& images, DType type, const void* x, void* y, void* taps,
             cudaStream_t stream);
// Every input gathers dx from the windows over it, without atomics. If `y` is given, the gradient
// of outputs that are not positive counts as 0.
void MaxPoolGradient(const PoolingImages& images, DType type, const void* dy, const void* y,
                     const void* taps, void* dx, cudaStream_t stream);

// Averages over the part of the window inside the padded image (Caffe).
void AveragePool(const PoolingImages& images, DType type, const void* x, void* y,
                 cudaStream_t stream);
void AveragePoolGradient(const PoolingImages& images, DType type, const void* dy, void* dx,
                         cudaStream_t stream);

}  // namespace gf

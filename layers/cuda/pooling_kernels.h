#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A pooling of images with the channels last. Index 0: height, 1: width.
struct PoolingImages {
  int64_t n = 0;
  int channels = 0;
  int in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, pad[2] = {};
};

// `taps` (per output: which tap of the window was the maximum, row by row) may be null in forward;
// one byte each if the window has at most 256 taps, else two. NaN is a maximum.
void MaxPool(const PoolingImages& images, DType type, const void* x, void* y, void* taps,
             cudaStream_t stream);
// dx of every input is gathered from the windows over it: no atomics. With `y`, the gradient of
// outputs that are not positive counts as 0.
void MaxPoolGradient(const PoolingImages& images, DType type, const void* dy, const void* y,
                     const void* taps, void* dx, cudaStream_t stream);

// Averages over the part of the window inside the padded image (Caffe).
void AveragePool(const PoolingImages& images, DType type, const void* x, void* y,
                 cudaStream_t stream);
void AveragePoolGradient(const PoolingImages& images, DType type, const void* dy, void* dx,
                         cudaStream_t stream);

}  // namespace gf

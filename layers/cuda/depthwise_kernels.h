#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"

namespace gf {

// Convolutions whose groups have one channel (Note [Depthwise convolutions], layers/depthwise.h),
// on channels-last tensors of one type. x: images, w: filters, y: results or their gradients. Sums
// are FP32 in an order that depends on the shape alone.

// Whether these kernels compute the shape: groups of one channel, filters of at most 49 taps, at
// most 32 filters per channel, and images and results of fewer than 2^31 elements per image.
bool DepthwiseFits(const ConvolutionShape& shape);

// `bias` [outputs] may be null; a ReLU follows if `relu`.
void DepthwiseForward(const ConvolutionShape& shape, DType type, const void* x, const void* w,
                      const void* bias, bool relu, void* y, cudaStream_t stream);
void DepthwiseBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                           const void* dy, cudaStream_t stream);
// `workspace` has DepthwiseFilterBytes bytes.
void DepthwiseBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                             const void* dy, void* workspace, cudaStream_t stream);
size_t DepthwiseFilterBytes(const ConvolutionShape& shape, DType type);

}  // namespace gf

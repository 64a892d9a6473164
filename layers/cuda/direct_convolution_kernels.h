#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"

namespace gf {

// Convolution by its definition, which is slow, for shapes that cuDNN does not support. x: images,
// w: filters, y: results or their gradients, all of one type. Sums are FP32 in a fixed order.
void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w, void* y,
                   cudaStream_t stream);
void DirectBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                        const void* dy, cudaStream_t stream);
void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                          const void* dy, cudaStream_t stream);

}  // namespace gf

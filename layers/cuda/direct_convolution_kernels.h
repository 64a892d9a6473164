#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"

namespace gf {

// Elements of a tensor with `total` elements: one from each of `count` stretches of equal length.
struct Samples {
  float* values = nullptr;  // [count] on the GPU, FP32
  int64_t count = 0, total = 0;

  // The place of sample i. It changes from stretch to stretch, so that stretches of whole rows of
  // channels do not always meet the same channel.
  constexpr int64_t At(int64_t i) const {
    const int64_t begin = i * total / count, end = (i + 1) * total / count;
    return begin + i * 2654435761 % (end - begin);
  }
};

// Convolution by its definition, which is slow, for shapes that cuDNN does not support. x: images,
// w: filters, y: results or their gradients, all of one type. Sums are FP32 in a fixed order.
void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w, void* y,
                   cudaStream_t stream);
void DirectBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                        const void* dy, cudaStream_t stream);
void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                          const void* dy, cudaStream_t stream);

// The same for samples of the results, which are not rounded to `type`.
void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w,
                   const Samples& y, cudaStream_t stream);
void DirectBackwardData(const ConvolutionShape& shape, DType type, const Samples& dx, const void* w,
                        const void* dy, cudaStream_t stream);
void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x,
                          const Samples& dw, const void* dy, cudaStream_t stream);

// Copies samples of a tensor of this type.
void TakeSamples(DType type, const void* data, const Samples& samples, cudaStream_t stream);

}  // namespace gf

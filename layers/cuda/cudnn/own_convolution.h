#pragma once

#include <memory>

#include "layers/cuda/cudnn/cudnn_convolution.h"

namespace gf {

// Passes that our own kernels compute on a stream, for the shape, type and epilogue of a request.

// By definition (direct_convolution_kernels.h), for any shape; without the epilogue.
std::shared_ptr<CudnnConvolution> NewDirectPass(const ConvolutionRequest& request,
                                                cudaStream_t stream);

// By depthwise_kernels.h, with the epilogue; null if they do not compute the shape or must not
// (layers/depthwise.h).
std::shared_ptr<CudnnConvolution> NewDepthwisePass(const ConvolutionRequest& request,
                                                   cudaStream_t stream);

// A forward pass without the epilogue, then the epilogue as a separate kernel.
std::shared_ptr<CudnnConvolution> WithEpilogue(std::shared_ptr<CudnnConvolution> convolution,
                                               const ConvolutionRequest& request,
                                               cudaStream_t stream);

// That kernel alone. `bias` is read if the epilogue has one.
void ApplyEpilogue(const ConvolutionRequest& request, void* y, void* bias, cudaStream_t stream);

}  // namespace gf

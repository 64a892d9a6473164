#pragma once

#include <memory>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/columns.h"
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

// A kernel that computes only the epilogue of a forward pass.
class EpilogueKernel {
 public:
  EpilogueKernel(const ConvolutionRequest& request, CudaDevice* device);

  size_t workspace_bytes() const;
  // Changes memory.y, or writes memory.sums.
  void Run(const ConvolutionMemory& memory, void* workspace) const;

 private:
  const ConvolutionRequest request_;
  const ColumnsView view_;
  const cudaStream_t stream_;
  const std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
};

// A forward pass without the epilogue, then that kernel.
std::shared_ptr<CudnnConvolution> WithEpilogue(std::shared_ptr<CudnnConvolution> convolution,
                                               const EpilogueKernel& epilogue);

}  // namespace gf

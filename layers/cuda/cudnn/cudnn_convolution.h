#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "core/cuda/cuda_device.h"
#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/convolution_graph.h"

namespace gf {

// One pass of a convolution on the compute stream: by the fastest cuDNN engine for the shape, by
// definition if cuDNN has none, or by our own kernels for depthwise convolutions
// (own_convolution.h).
class CudnnConvolution {
 public:
  virtual ~CudnnConvolution() = default;

  virtual size_t workspace_bytes() const = 0;
  // "cuDNN on tensor cores"
  virtual std::string Describe() const = 0;

  // The pass writes x, w or y, and with such an epilogue the sums. `workspace` has
  // workspace_bytes() bytes.
  virtual void Run(const ConvolutionMemory& memory, void* workspace) const = 0;
};

struct ConvolutionRequest {
  ConvolutionPass pass = ConvolutionPass::kForward;
  ConvolutionShape shape;
  DType type = DType::kFP32;
  ConvolutionEpilogue epilogue;  // for kForward
  // Follow cuDNN's ranking instead of timing, so that every process makes the same choice.
  // Depthwise convolutions then take our own kernels.
  bool deterministic = false;
  bool allow_tf32 = false;  // see KernelContext
};

// Chooses once per process for each request. With timing, the choice of an earlier process is tried
// first (PlanCache).
std::shared_ptr<CudnnConvolution> FindConvolution(const ConvolutionRequest& request,
                                                  CudaDevice* device);

}  // namespace gf

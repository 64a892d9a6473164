#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "core/cuda/cuda_device.h"
#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/convolution_graph.h"

namespace gf {

// One pass of a convolution on the compute stream: by the engine of cuDNN that was fastest for the
// shape, or by definition (direct_convolution_kernels.h) where cuDNN has none.
class CudnnConvolution {
 public:
  virtual ~CudnnConvolution() = default;

  virtual size_t workspace_bytes() const = 0;
  // "cuDNN on tensor cores"
  virtual std::string Describe() const = 0;

  // x: images, w: filters, y: results; the one that the pass writes, and the gradients of these in
  // backward passes. `bias` [outputs] in their type, null without one in the epilogue. `workspace`
  // of workspace_bytes().
  virtual void Run(void* x, void* w, void* y, void* bias, void* workspace) const = 0;
};

struct ConvolutionRequest {
  ConvolutionPass pass = ConvolutionPass::kForward;
  ConvolutionShape shape;
  DType type = DType::kFP32;
  ConvolutionEpilogue epilogue;  // of kForward
  // By cuDNN's word instead of by time, so that every process chooses the same.
  bool deterministic = false;
  bool allow_tf32 = false;  // see KernelContext
};

// Chosen once per process for each request; where that is by time, the choice of an earlier process
// is tried first (PlanCache).
std::shared_ptr<CudnnConvolution> FindConvolution(const ConvolutionRequest& request,
                                                  CudaDevice* device);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "core/cuda/cuda_device.h"
#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"

namespace gf {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

// One pass of a convolution on the compute stream: by the engine of cuDNN that was fastest for the
// shape, or by definition (direct_convolution_kernels.h) where cuDNN has none.
class CudnnConvolution {
 public:
  virtual ~CudnnConvolution() = default;

  virtual size_t workspace_bytes() const = 0;

  // x: images, w: filters, y: results; the one that the pass writes, and the gradients of these in
  // backward passes. `workspace` of workspace_bytes().
  virtual void Run(void* x, void* w, void* y, void* workspace) const = 0;
};

// Chosen once per process for each shape and type. `deterministic`: by cuDNN's word instead of
// by time, so that every process chooses the same. FP32 without TF32.
std::shared_ptr<CudnnConvolution> FindConvolution(ConvolutionPass pass,
                                                  const ConvolutionShape& shape, DType type,
                                                  bool deterministic, CudaDevice* device);

}  // namespace gf

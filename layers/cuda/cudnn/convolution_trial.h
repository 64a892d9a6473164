#pragma once

#include <functional>
#include <memory>

#include "core/cuda/cuda_device.h"
#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/convolution_graph.h"

namespace gf {

// Times implementations of a convolution on scratch memory with random numbers in [-1, 1). On zeros
// a GPU draws less power, and the ranking differs.
class ConvolutionTrial {
 public:
  ConvolutionTrial(const ConvolutionShape& shape, DType type, CudaDevice* device);

  // The scratch tensors.
  void* x() const { return x_.get(); }
  void* w() const { return w_.get(); }
  void* y() const { return y_.get(); }
  void* bias() const { return bias_.get(); }
  float* sums() const { return static_cast<float*>(sums_.get()); }
  // Those that a pass with this epilogue gets.
  ConvolutionMemory MemoryFor(const ConvolutionEpilogue& epilogue) const;

  // Milliseconds of several calls that enqueue the work on the compute stream; kCannot if the first
  // call of `run` returns false.
  static constexpr float kCannot = 1e30f;
  float Milliseconds(const std::function<bool()>& run);

 private:
  CudaDevice* const device_;
  const std::shared_ptr<void> x_, w_, y_, bias_, sums_;
  CudaEvent begin_{true}, end_{true};
};

}  // namespace gf

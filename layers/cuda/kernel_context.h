#pragma once

#include "core/cuda/channels_last.h"
#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"
#include "layers/cuda/columns.h"
#include "layers/kernel.h"

namespace gf {

// Access to the context of kernels of the device "cuda".
inline CudaDevice* CudaOf(const KernelContext& context) {
  return static_cast<CudaDevice*>(context.device);
}
inline cudaStream_t StreamOf(const KernelContext& context) {
  return CudaOf(context)->context().compute_stream()->get();
}

// A kernel that enqueues the same work in every step.
class RepeatingKernel : public Kernel {
 public:
  bool ForwardRepeats() const override { return true; }
  bool BackwardRepeats() const override { return true; }
};

// A tensor N x C x ... in ImageLayout, viewed as a matrix.
inline ColumnsView ColumnsOf(const Shape& shape) {
  return {shape.count() / shape[1], static_cast<int>(shape[1])};
}

// Fail the layer if an image of this tensor, or the part after the layer's first axis, has too many
// elements for 31-bit indices.
inline void CheckImageSize(const Layer& layer, const Shape& shape) {
  const int64_t elements = shape.count(1, shape.rank());
  if (elements <= INT32_MAX) return;
  layer.Fail("an image has ", elements, " elements, expected at most ", INT32_MAX, " on a GPU");
}
inline void CheckRowSize(const Layer& layer, int64_t elements) {
  if (elements <= INT32_MAX) return;
  layer.Fail("a sample has ", elements, " elements, expected at most ", INT32_MAX, " on a GPU");
}

// Copies on the compute stream; does nothing if both are the same memory.
inline void CopyOnDevice(const KernelContext& context, const void* from, void* to, size_t bytes) {
  if (from == to) return;
  GF_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, StreamOf(context)));
}

}  // namespace gf

#pragma once

#include <memory>
#include <string>

#include "core/cuda/memory.h"
#include "core/cuda/stream.h"

namespace gf {

// The GPU of this process: number (local rank) modulo (number of visible GPUs). Created at first
// use and never destroyed, because the driver may shut down before static objects are destroyed.
class CudaContext {
 public:
  // Also selects the GPU for the calling thread. Throws UserError if there is no GPU.
  static CudaContext& Get();

  int ordinal() const { return ordinal_; }
  const cudaDeviceProp& properties() const { return properties_; }
  CudaStream* compute_stream() const { return compute_.get(); }
  CudaStream* copy_stream() const { return copy_.get(); }
  GpuMemory* memory() const { return memory_.get(); }

 private:
  CudaContext();

  int ordinal_ = 0;
  cudaDeviceProp properties_ = {};
  std::unique_ptr<CudaStream> compute_, copy_;
  std::shared_ptr<GpuMemory> memory_;
};

}  // namespace gf

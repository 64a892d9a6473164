#pragma once

#include <memory>
#include <string>

#include "core/cuda/memory.h"
#include "core/cuda/stream.h"

namespace gf {

// This process's GPU: that of its local rank modulo their number. Made at the first use and kept to
// the end of the process, since the driver may be gone before static objects are.
class CudaContext {
 public:
  // Also makes the GPU that of the calling thread. Throws UserError where there is none.
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

#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "core/cuda/stream.h"
#include "core/device.h"

namespace gf {

// An asynchronous copy of at most 4 KiB to page-locked memory. The memory and its event come from a
// process-wide store and return to it, because creating them would wait for the GPU.
class PinnedReading : public HostReading {
 public:
  PinnedReading(const void* from, size_t bytes, cudaStream_t stream);
  ~PinnedReading() override;
  PinnedReading(const PinnedReading&) = delete;
  PinnedReading& operator=(const PinnedReading&) = delete;

  const void* Wait() override;

  // One slot of the store.
  struct Slot {
    Slot();

    const std::shared_ptr<void> memory;
    CudaEvent copied;
  };

 private:
  std::unique_ptr<Slot> slot_;
};

}  // namespace gf

#include "core/cuda/memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/cuda/error.h"
#include "core/error.h"

namespace gf {
namespace {

// Rounds sizes so that freed memory can be reused: to multiples of 512 bytes, or of 2 MiB if that
// wastes little.
size_t Rounded(size_t bytes) {
  constexpr size_t kSmall = 512, kLarge = size_t{2} << 20;
  const size_t unit = bytes >= 8 * kLarge ? kLarge : kSmall;
  return (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
}

}  // namespace

std::shared_ptr<void> GpuMemory::Allocate(size_t bytes) {
  const size_t size = Rounded(bytes);
  void* const data = Take(size);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_ += size;
    peak_ = std::max<size_t>(peak_, used_);
  }
  return std::shared_ptr<void>(
      data, [size, self = shared_from_this()](void* p) { self->GiveBack(p, size); });
}

void* GpuMemory::Take(size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<void*>& same_size = unused_[bytes];
    if (!same_size.empty()) {
      void* const data = same_size.back();
      same_size.pop_back();
      return data;
    }
  }
  void* data = nullptr;
  cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    Trim();
    status = cudaMalloc(&data, bytes);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears the error: memory may become available later
    size_t free = 0, total = 0;
    GF_CUDA(cudaMemGetInfo(&free, &total));
    ThrowUserError("out of GPU memory: ", bytes >> 20, " MiB requested, ", free >> 20, " of ",
                   total >> 20,
                   " MiB free; lower batch_size, set recompute: true, or run fewer ranks per GPU");
  }
  GF_CUDA(status);
  return data;
}

void GpuMemory::GiveBack(void* data, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  unused_[bytes].push_back(data);
  used_ -= bytes;
}

size_t GpuMemory::unused_bytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const auto& [size, blocks] : unused_) bytes += size * blocks.size();
  return bytes;
}

void GpuMemory::Trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, blocks] : unused_) {
    for (void* block : blocks) cudaFree(block);  // waits for the GPU
    blocks.clear();
  }
}

std::shared_ptr<void> AllocatePinned(size_t bytes) {
  void* data = nullptr;
  GF_CUDA(cudaHostAlloc(&data, std::max<size_t>(bytes, 1), cudaHostAllocPortable));
  return std::shared_ptr<void>(data, [](void* p) { cudaFreeHost(p); });
}

}  // namespace gf

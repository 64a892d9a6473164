#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace gf {

// Allocator for the memory of the current GPU. Freed blocks are kept and handed out at once to the
// next request of the same size. So work that still uses a freed block must be on the compute
// stream, where the next owner's work comes later, or must be complete.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  // Allocates at least `bytes` bytes, aligned to 256 bytes, uninitialized, freed with the last
  // owner. Throws UserError if the GPU has no memory left.
  std::shared_ptr<void> Allocate(size_t bytes);

  // Peak number of bytes in use.
  size_t peak() const { return peak_; }

  // Bytes of freed blocks; ReleaseUnused returns them to the GPU.
  size_t unused_bytes();
  void Trim();

 private:
  void* Take(size_t bytes);
  void GiveBack(void* data, size_t bytes);

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> unused_;  // by size
  size_t used_ = 0;
  std::atomic<size_t> peak_{0};
};

// Page-locked host memory, which the GPU can access directly. Uninitialized.
std::shared_ptr<void> AllocatePinned(size_t bytes);

}  // namespace gf

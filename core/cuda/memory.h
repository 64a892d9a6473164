#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace gf {

// Memory of the current GPU. What is given back is kept for the next request of the same size and
// handed out at once: work that still uses it must be on the compute stream, on which the next
// owner's work comes later, or be waited for.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  // At least `bytes`, aligned to 256 bytes, not initialized. Throws UserError when the GPU has no
  // more. Freed with the last owner.
  std::shared_ptr<void> Allocate(size_t bytes);

  // The most bytes in use at a time.
  size_t peak() const { return peak_; }

  // Bytes that nobody uses, and what gives them back to the GPU.
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

// Page-locked memory of the host, which the GPU copies from and to by itself. Not initialized.
std::shared_ptr<void> AllocatePinned(size_t bytes);

}  // namespace gf

#include "core/cuda/pinned_reading.h"

#include <glog/logging.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/cuda/error.h"
#include "core/cuda/memory.h"

namespace gf {
namespace {

constexpr size_t kSlotBytes = 4096;

// Slots without an owner. A copy to a slot may still be in progress, because not every owner waits.
class Store {
 public:
  static Store& Get() {
    static Store* const store = new Store;
    return *store;
  }

  std::unique_ptr<PinnedReading::Slot> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto free = std::find_if(slots_.begin(), slots_.end(),
                                   [](const auto& slot) { return slot->copied.Done(); });
    if (free == slots_.end()) return std::make_unique<PinnedReading::Slot>();
    auto slot = std::move(*free);
    slots_.erase(free);
    return slot;
  }

  void GiveBack(std::unique_ptr<PinnedReading::Slot> slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    slots_.push_back(std::move(slot));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<PinnedReading::Slot>> slots_;
};

}  // namespace

PinnedReading::Slot::Slot() : memory(AllocatePinned(kSlotBytes)) {}

PinnedReading::PinnedReading(const void* from, size_t bytes, cudaStream_t stream)
    : slot_(Store::Get().Take()) {
  CHECK_LE(bytes, kSlotBytes);
  GF_CUDA(cudaMemcpyAsync(slot_->memory.get(), from, bytes, cudaMemcpyDeviceToHost, stream));
  slot_->copied.Record(stream);
}

PinnedReading::~PinnedReading() { Store::Get().GiveBack(std::move(slot_)); }

const void* PinnedReading::Wait() {
  slot_->copied.Wait();
  return slot_->memory.get();
}

}  // namespace gf

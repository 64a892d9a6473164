#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/batch.h"
#include "core/device.h"

namespace gf {

// Allocates device memory for images of shape C, H, W: up to `mib` MiB, and at most one place per
// sample. Throws UserError if the memory is not available or too small for one image.
Tensor AllocatePlaces(Device* device, const Shape& image, int64_t mib, int64_t samples);

// Records which images a device keeps, and their places; see Note [Images kept on the device].
//
// Note [Places]
// Batches are prepared ahead. A place is reserved when a batch is scheduled. Once that batch is
// delivered, batches scheduled later find the image at its place; the device consumes them later
// still. The place of a dropped image is free from the next batch on, because the batch being
// scheduled may still use it.
class DevicePlaces {
 public:
  // `images`: the result of AllocatePlaces.
  explicit DevicePlaces(const Tensor& images) : capacity_(images.desc.shape[0]) {}

  // Starts scheduling another batch.
  void BeginBatch();
  // Schedules `sample` as image number `image` of the batch: sets its place, reserving one if there
  // is room.
  void Schedule(int64_t sample, int64_t image, KeptImages* batch);
  // Marks a batch as delivered. `samples`: as scheduled; `good`: whether each image is the
  // scheduled sample.
  void Deliver(const std::vector<int64_t>& samples, const std::vector<uint8_t>& good,
               KeptImages* batch);
  // Frees the place of a sample that is no longer needed.
  void Drop(int64_t sample);

  int64_t images() const { return static_cast<int64_t>(places_.size()); }

 private:
  int64_t Reserve();

  const int64_t capacity_;
  int64_t used_ = 0;           // the first places, which were reserved at least once
  std::vector<int64_t> free_;  // free places among them
  std::vector<int64_t> dropped_;
  std::unordered_map<int64_t, int64_t> places_;  // by sample
};

}  // namespace gf

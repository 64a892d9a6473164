#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/batch.h"
#include "core/device.h"

namespace gf {

// Memory of the device for images of this shape (C, H, W): up to `mib` MiB, and no more than there
// are samples. Throws UserError if it cannot be had or not one fits.
Tensor AllocatePlaces(Device* device, const Shape& image, int64_t mib, int64_t samples);

// Which images a device keeps, and at which of its places; see Note [Images kept on the device].
//
// Note [Places]
// Batches are made ahead: a place is reserved when a batch is scheduled, and the image counts as
// lying there when that batch is delivered, for the batches that are scheduled from then on. They
// are taken in later. Places of images that are dropped are free again from the next batch on: the
// one that is being scheduled may still use them.
class DevicePlaces {
 public:
  // `images`: of AllocatePlaces.
  explicit DevicePlaces(const Tensor& images) : capacity_(images.desc.shape[0]) {}

  // Another batch is scheduled from now on.
  void BeginBatch();
  // Image `image` of it is this sample: says where it lies, or will lie if there is room.
  void Schedule(int64_t sample, int64_t image, KeptImages* batch);
  // A batch is delivered. `samples`: as scheduled; `good`: whether the image is the sample.
  void Deliver(const std::vector<int64_t>& samples, const std::vector<uint8_t>& good,
               KeptImages* batch);
  // The sample is not needed any more.
  void Drop(int64_t sample);

  int64_t images() const { return static_cast<int64_t>(places_.size()); }

 private:
  int64_t Reserve();

  const int64_t capacity_;
  int64_t used_ = 0;           // places that were ever reserved: the first ones
  std::vector<int64_t> free_;  // of these
  std::vector<int64_t> dropped_;
  std::unordered_map<int64_t, int64_t> places_;  // of samples
};

}  // namespace gf

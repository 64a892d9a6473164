#include "data/loader/device_places.h"

#include <algorithm>

#include "core/error.h"

namespace gf {

Tensor AllocatePlaces(Device* device, const Shape& image, int64_t mib, int64_t samples) {
  const int64_t places = std::min(samples, (mib << 20) / image.count());
  if (places == 0) {
    ThrowUserError("device_cache_mib: ", mib, ", but an image has ", image.count(),
                   " bytes: not even one fits; raise device_cache_mib, or set it to 0");
  }
  Tensor images;
  images.desc = {{places, image[0], image[1], image[2]}, DType::kUINT8, Layout()};
  try {
    images.owner = device->Allocate(images.desc.bytes());
  } catch (const UserError& error) {
    ThrowUserError("device_cache_mib: ", mib, ": ", error.what());
  }
  images.data = images.owner.get();
  return images;
}

void DevicePlaces::BeginBatch() {
  free_.insert(free_.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

int64_t DevicePlaces::Reserve() {
  if (used_ < capacity_) return used_++;
  if (free_.empty()) return -1;
  const int64_t place = free_.back();
  free_.pop_back();
  return place;
}

void DevicePlaces::Schedule(int64_t sample, int64_t image, KeptImages* batch) {
  const auto found = places_.find(sample);
  const bool there = found != places_.end();
  batch->there[image] = there ? 1 : 0;
  batch->places[image] = there ? found->second : Reserve();
}

void DevicePlaces::Deliver(const std::vector<int64_t>& samples, const std::vector<uint8_t>& good,
                           KeptImages* batch) {
  for (size_t i = 0; i < samples.size(); ++i) {
    int64_t& place = batch->places[i];
    if (batch->there[i] || place < 0) continue;
    // This batch or another one may have stored the same sample already.
    if (good[i] && places_.emplace(samples[i], place).second) continue;
    free_.push_back(place);
    place = -1;
  }
}

void DevicePlaces::Drop(int64_t sample) {
  const auto found = places_.find(sample);
  if (found == places_.end()) return;
  dropped_.push_back(found->second);
  places_.erase(found);
}

}  // namespace gf

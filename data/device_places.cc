#include "data/device_places.h"

namespace gf {

void DevicePlaces::BeginBatch() {
  free_.insert(free_.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

int64_t DevicePlaces::Find(int64_t sample) const {
  const auto found = places_.find(sample);
  return found == places_.end() ? -1 : found->second;
}

int64_t DevicePlaces::Reserve() {
  if (used_ < capacity_) return used_++;
  if (free_.empty()) return -1;
  const int64_t place = free_.back();
  free_.pop_back();
  return place;
}

bool DevicePlaces::Keep(int64_t sample, int64_t place) {
  const bool is_new = places_.emplace(sample, place).second;
  if (!is_new) Release(place);
  return is_new;
}

void DevicePlaces::Drop(int64_t sample) {
  const auto found = places_.find(sample);
  if (found == places_.end()) return;
  dropped_.push_back(found->second);
  places_.erase(found);
}

}  // namespace gf

#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gf {

// Which images a device keeps, and at which of its places; see Note [Images kept on the device].
//
// Note [Places]
// Batches are made ahead: a place is reserved when a batch is scheduled, and the image counts as
// lying there when that batch is delivered, for the batches that are scheduled from then on. They
// are taken in later. Places of images that are dropped are free again from the next batch on: the
// one that is being scheduled may still use them.
class DevicePlaces {
 public:
  explicit DevicePlaces(int64_t capacity) : capacity_(capacity) {}

  // Another batch is scheduled from now on.
  void BeginBatch();
  // Where the sample lies, -1: nowhere.
  int64_t Find(int64_t sample) const;
  // A free place, -1: there is none.
  int64_t Reserve();
  // The sample lies at the place that was reserved for it. False, and the place is free: it lies at
  // another already.
  bool Keep(int64_t sample, int64_t place);
  // A place that was reserved is not needed.
  void Release(int64_t place) { free_.push_back(place); }
  // The sample is not needed any more.
  void Drop(int64_t sample);

  int64_t images() const { return static_cast<int64_t>(places_.size()); }

 private:
  const int64_t capacity_;
  int64_t used_ = 0;           // places that were ever reserved: the first ones
  std::vector<int64_t> free_;  // of these
  std::vector<int64_t> dropped_;
  std::unordered_map<int64_t, int64_t> places_;
};

}  // namespace gf

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/flow/buckets.h"
#include "comm/flow/compressor.h"

namespace gf {

// The buckets of LAZY, in which all gradients of a compressor's step travel, in place.
class DenseBuckets {
 public:
  explicit DenseBuckets(const CompressedPool& pool)
      : pool_(pool),
        buckets_(CutBuckets(pool.layout, static_cast<int64_t>(SizeOf(pool.wire)),
                            ThresholdsOf(pool.options.config))) {}

  const std::vector<Bucket>& buckets() const { return buckets_; }
  // Bytes on the wire.
  int64_t LargestMessage() const {
    return LongestOf(buckets_) * static_cast<int64_t>(SizeOf(pool_.wire));
  }

  void Begin() { sent_ = arrived_ = 0; }

  // The parcels to start once the first `ready` entries are; calls prepare(bucket) for each.
  template <typename Prepare>
  std::vector<Parcel> Ready(int ready, const Prepare& prepare) {
    std::vector<Parcel> parcels;
    for (; sent_ < buckets_.size() && buckets_[sent_].last_entry < ready; ++sent_) {
      const Bucket& b = buckets_[sent_];
      prepare(b);
      parcels.push_back({pool_.gradients, b.range(), pool_.wire,
                         pool_.layout.NameOf(b.first_entry, b.last_entry)});
    }
    return parcels;
  }

  Arrival Arrived() { return {{buckets_[arrived_++].range()}, {}}; }

 private:
  const CompressedPool pool_;
  const std::vector<Bucket> buckets_;
  size_t sent_ = 0, arrived_ = 0;  // buckets of this step
};

}  // namespace gf

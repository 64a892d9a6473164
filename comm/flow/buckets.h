#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/config/job.pb.h"
#include "core/pool_layout.h"

namespace gf {

// A contiguous range of the gradient pool that is reduced at once.
struct Bucket {
  int64_t offset = 0, count = 0;        // elements of the pool
  int first_entry = 0, last_entry = 0;  // of the PoolLayout, both inclusive

  ElementRange range() const { return {offset, offset + count}; }
};

// Bytes that must be waiting before an allreduce starts, by the place of the bucket in the step.
// Small first: communication starts early. Small last: what is ready after everything else is not
// hidden by anything.
struct Thresholds {
  int64_t first = 0, middle = 0, last = 0;
};

// Those of the config's mode: 0 for PER_TENSOR, no limit for AFTER_BACKWARD.
Thresholds ThresholdsOf(const CommConfig& config);

// Lazy allreduce: cuts the pool into buckets of whole entries, each as short as its threshold
// allows. The last bucket is the shortest tail of the pool that reaches its threshold; what is in
// front of it and reaches no threshold any more belongs to the bucket before. Thresholds of 0 make
// a bucket per entry. element_bytes: of what travels. A pure function: all ranks have the same.
std::vector<Bucket> CutBuckets(const PoolLayout& layout, int64_t element_bytes,
                               const Thresholds& thresholds);

// First and last entry of the buckets.
std::vector<std::pair<int, int>> EntriesOf(const std::vector<Bucket>& buckets);

// Elements of the longest bucket, 0 if there is none.
int64_t LongestOf(const std::vector<Bucket>& buckets);

}  // namespace gf

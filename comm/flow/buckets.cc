#include "comm/flow/buckets.h"

#include <algorithm>

namespace gf {

Thresholds ThresholdsOf(const CommConfig& config) {
  if (config.mode() == CommConfig::PER_TENSOR) return {};
  if (config.mode() == CommConfig::AFTER_BACKWARD) return {INT64_MAX, INT64_MAX, INT64_MAX};
  return {config.threshold_first(), config.threshold_middle(), config.threshold_last()};
}

std::vector<Bucket> CutBuckets(const PoolLayout& layout, int64_t element_bytes,
                               const Thresholds& thresholds) {
  const auto& entries = layout.entries();
  const int count = static_cast<int>(entries.size());
  std::vector<Bucket> buckets;
  const auto add = [&](int first, int last) {
    const int64_t end = entries[last].offset + entries[last].count;
    buckets.push_back({entries[first].offset, end - entries[first].offset, first, last});
  };
  if (count == 0) return buckets;
  int tail = count - 1;  // first entry of the last bucket
  int64_t bytes = entries[tail].count * element_bytes;
  while (tail > 0 && bytes < thresholds.last) bytes += entries[--tail].count * element_bytes;
  bytes = 0;
  int first = 0;
  for (int i = 0; i < tail; ++i) {
    bytes += entries[i].count * element_bytes;
    const int64_t threshold = buckets.empty() ? thresholds.first : thresholds.middle;
    if (bytes < threshold && i + 1 < tail) continue;
    if (bytes < threshold && !buckets.empty()) {
      // Too little for a bucket of its own.
      const int before = buckets.back().first_entry;
      buckets.pop_back();
      add(before, i);
    } else {
      add(first, i);
    }
    first = i + 1;
    bytes = 0;
  }
  add(tail, count - 1);
  return buckets;
}

std::vector<std::pair<int, int>> EntriesOf(const std::vector<Bucket>& buckets) {
  std::vector<std::pair<int, int>> entries;
  for (const Bucket& b : buckets) entries.emplace_back(b.first_entry, b.last_entry);
  return entries;
}

int64_t LongestOf(const std::vector<Bucket>& buckets) {
  int64_t longest = 0;
  for (const Bucket& bucket : buckets) longest = std::max(longest, bucket.count);
  return longest;
}

}  // namespace gf

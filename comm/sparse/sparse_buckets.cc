#include "comm/sparse/sparse_buckets.h"

#include <algorithm>

namespace gf {

void SparseBuckets::Begin() {
  done_ = 0;
  first_entry_ = 0;
  begun_ = false;
}

std::optional<SparseBucket> SparseBuckets::Next(const ChunkSet& important, int ready) {
  const int entries = static_cast<int>(layout_.entries().size());
  SparseBucket bucket;
  bucket.last_entry = ready - 1;
  bucket.pool = {done_, layout_.PrefixEnd(ready)};
  bucket.packed = {important.PackedOffset(bucket.pool.begin),
                   important.PackedOffset(bucket.pool.end)};
  const int64_t waiting = (bucket.packed.end - bucket.packed.begin) * element_bytes_;
  const int64_t threshold = begun_ ? middle_ : first_;
  if (waiting == 0 || (waiting < threshold && ready < entries)) return std::nullopt;
  bucket.name = "chunks of " + layout_.NameOf(first_entry_, bucket.last_entry);
  done_ = bucket.pool.end;
  first_entry_ = std::min(ready, entries - 1);
  begun_ = true;
  return bucket;
}

}  // namespace gf

#include "simulate/bucket_schedule.h"

#include <optional>
#include <utility>
#include <vector>

#include "comm/flow/buckets.h"
#include "comm/sparse/chunks.h"
#include "comm/sparse/selection.h"
#include "comm/sparse/sparse_buckets.h"

namespace gf {
namespace {

ChunkSet Evenly(const ChunkGrid& grid, int64_t chosen) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < chosen; ++i) ids.push_back((2 * i + 1) * grid.chunks() / (2 * chosen));
  return ChunkSet(grid, std::move(ids));
}

}  // namespace

BucketSchedule DenseSchedule(const PoolLayout& layout, const CommConfig& config,
                             int64_t wire_bytes) {
  BucketSchedule schedule;
  schedule.overlap = config.overlap();
  schedule.sharded = config.sharded_update();
  schedule.feedback = config.error_feedback();
  for (const Bucket& bucket : CutBuckets(layout, wire_bytes, ThresholdsOf(config))) {
    schedule.sends.push_back(
        {bucket.last_entry, bucket.count, layout.NameOf(bucket.first_entry, bucket.last_entry)});
  }
  return schedule;
}

BucketSchedule SparseSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes, double density) {
  const ChunkGrid grid(layout.count(), config.sparse().chunk_size());
  const ChunkSet set = Evenly(grid, ChunksAt(density, grid.chunks()));
  BucketSchedule schedule;
  if (set.IsAll()) {
    schedule = DenseSchedule(layout, config, wire_bytes);
  } else {
    schedule.overlap = config.overlap();
    schedule.sparse = true;
    SparseBuckets buckets(layout, wire_bytes, config.threshold_first(), config.threshold_middle());
    const int count = static_cast<int>(layout.entries().size());
    for (int ready = 1; ready <= count; ++ready) {
      const std::optional<SparseBucket> bucket = buckets.Next(set, ready);
      if (!bucket) continue;
      schedule.sends.push_back(
          {bucket->last_entry, bucket->packed.end - bucket->packed.begin, bucket->name});
    }
    schedule.density =
        static_cast<double>(set.PackedOffset(layout.count())) / static_cast<double>(layout.count());
  }
  schedule.norms = config.sparse().density() < 1 ? grid.chunks() : 0;
  return schedule;
}

}  // namespace gf

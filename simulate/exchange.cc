#include "simulate/exchange.h"

#include <algorithm>
#include <vector>

#include "comm/flow/bucket_plan.h"
#include "comm/sparse/chunks.h"
#include "comm/sparse/selection.h"
#include "core/error.h"

namespace gf {
namespace {

std::string NameOf(const PoolLayout& layout, int first, int last) {
  const auto& entries = layout.entries();
  return first == last ? entries[first].name
                       : StrCat(entries[first].name, " to ", entries[last].name);
}

ChunkSet Evenly(const ChunkGrid& grid, int64_t chosen) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < chosen; ++i) ids.push_back((2 * i + 1) * grid.chunks() / (2 * chosen));
  return ChunkSet(grid, std::move(ids));
}

}  // namespace

Exchange DenseExchange(const PoolLayout& layout, const CommConfig& config, int64_t wire_bytes) {
  Exchange exchange;
  exchange.overlap = config.overlap();
  exchange.sharded = config.sharded_update();
  for (const Bucket& bucket : PlanBuckets(layout, wire_bytes, ThresholdsOf(config))) {
    exchange.sends.push_back(
        {bucket.last_entry, bucket.count, NameOf(layout, bucket.first_entry, bucket.last_entry)});
  }
  return exchange;
}

Exchange SparseExchange(const PoolLayout& layout, const CommConfig& config, int64_t wire_bytes,
                        double density) {
  const ChunkGrid grid(layout.count(), config.sparse().chunk_size());
  const ChunkSet set = Evenly(grid, ChunksAt(density, grid.chunks()));
  Exchange exchange;
  if (set.IsAll()) {
    exchange = DenseExchange(layout, config, wire_bytes);
  } else {
    exchange.overlap = config.overlap();
    exchange.sparse = true;
    const int count = static_cast<int>(layout.entries().size());
    int64_t launched = 0;
    int first = 0;
    for (int ready = 1; ready <= count; ++ready) {
      const bool all = ready == count;
      const int64_t done = set.PackedOffset(all ? layout.count() : layout.entries()[ready].offset);
      const int64_t waiting = (done - launched) * wire_bytes;
      const int64_t threshold =
          exchange.sends.empty() ? config.threshold_first() : config.threshold_middle();
      if (waiting == 0 || (waiting < threshold && !all)) continue;
      exchange.sends.push_back(
          {ready - 1, done - launched, "chunks of " + NameOf(layout, first, ready - 1)});
      launched = done;
      first = std::min(ready, count - 1);
    }
    exchange.density =
        static_cast<double>(set.PackedOffset(layout.count())) / static_cast<double>(layout.count());
  }
  exchange.norms = config.sparse().density() < 1 ? grid.chunks() : 0;
  return exchange;
}

}  // namespace gf

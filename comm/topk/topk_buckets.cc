#include "comm/topk/topk_buckets.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "comm/pack/large_weights.h"
#include "core/error.h"

namespace gf {

double TopkDensityAt(int64_t step, int64_t total_steps, double density, double warmup_fraction) {
  const double warmup_steps = warmup_fraction * static_cast<double>(total_steps);
  if (static_cast<double>(step) >= warmup_steps) return density;
  return std::pow(density, static_cast<double>(step) / warmup_steps);
}

double TopkLimit(int world, DType wire) {
  // A ring carries each rank's message to all others, and of an allreduced vector almost twice what
  // it carries of a gathered one.
  const auto value = static_cast<double>(SizeOf(wire));
  return std::min(1.0, 2 * value / (world * (value + 2)));
}

std::string WhyTopkSendsAll(double density, int world, DType wire) {
  const double limit = TopkLimit(world, wire);
  if (density >= 1 || density <= limit) return "";
  // Two digits, rounded down.
  const double unit = std::pow(10, std::floor(std::log10(limit / 2)) - 1);
  return StrCat("TOPK equals LAZY at comm.topk.density ", density, " on ", world,
                " ranks: their messages would be longer than an allreduce of all gradients in ",
                Name(wire), ", so all gradients are sent; set comm.topk.density to ",
                std::floor(limit / 2 / unit) * unit,
                " or less, which sends at most half as many bytes, or take another mode");
}

std::vector<TopkBucket> MakeTopkBuckets(const PoolLayout& layout,
                                        const std::vector<std::pair<int, int>>& buckets,
                                        double density, DType wire) {
  CHECK(density > 0 && density <= 1) << "density " << density;
  std::vector<TopkBucket> result;
  int64_t words = 0;
  for (const auto& [first, last] : buckets) {
    TopkBucket bucket;
    bucket.last_entry = last;
    bucket.words_before = words;
    for (int e = first; e <= last; ++e) {
      const PoolEntry& entry = layout.entries()[e];
      if (!IsLargeWeight(entry)) continue;
      TopkEntry sparse;
      sparse.begin = entry.offset;
      sparse.count = entry.count;
      sparse.chosen = std::clamp<int64_t>(
          std::llround(density * static_cast<double>(entry.shape.count())), 1, entry.count);
      sparse.first_chosen = bucket.chosen;
      sparse.first_segment = bucket.segments;
      sparse.segments = (entry.count + kTopkSegment - 1) / kTopkSegment;
      bucket.chosen += sparse.chosen;
      bucket.segments += sparse.segments;
      bucket.entries.push_back(sparse);
    }
    if (bucket.entries.empty()) continue;
    bucket.name = StrCat("the largest of ", layout.NameOf(first, last));
    words += bucket.Words(wire);
    result.push_back(std::move(bucket));
  }
  return result;
}

}  // namespace gf

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// Share of a tensor's gradients that travel in `step` (from 0): falls exponentially from 1 to
// `density` over the first warmup_fraction of all steps, and stays there (Lin et al., arXiv
// 1712.01887, section 3.3). `density` in (0, 1], `warmup_fraction` in [0, 1].
double TopkDensityAt(int64_t step, int64_t total_steps, double density, double warmup_fraction);

// The largest density at which gathering values and indices from `world` ranks sends fewer bytes
// than the allreduce of everything. `wire`: the type of values, FP32, BF16 or FP16.
double TopkLimit(int world, DType wire);

// A sentence for people where `density` asks for less than all gradients, but TopkLimit lets all of
// them travel; "" otherwise.
std::string WhyTopkSendsAll(double density, int world, DType wire);

// Elements whose places are counted from a common start, in two bytes each.
constexpr int64_t kTopkSegment = 65536;

// A tensor of which `chosen` gradients travel.
struct TopkEntry {
  int64_t begin = 0, count = 0;  // elements of the pool
  int64_t chosen = 0;            // how many travel, at least 1
  int64_t first_chosen = 0;      // chosen ones of the bucket in front of it
  int64_t first_segment = 0;     // segments of the bucket in front of it
  int64_t segments = 0;
};

// Note [Messages of TOPK]
// A rank's message of a bucket consists of 4-byte words:
//   ends     [segments]  chosen gradients up to the end of each segment, from the bucket's first
//   places   [chosen]    16 bits each: place within its segment, ascending
//   values   [chosen]    in the wire type
// Each of the three fills up its last word. All ranks' messages have equal lengths and lie one
// after the other, by rank.

// The large weights of consecutive entries of the pool; what travels at once.
struct TopkBucket {
  int last_entry = 0;  // of the layout; the bucket is complete when it is ready
  std::string name;    // "fc6.weight to fc7.weight"
  std::vector<TopkEntry> entries;
  int64_t chosen = 0, segments = 0;  // of all entries
  int64_t words_before = 0;          // of one rank's messages of earlier buckets

  int64_t PlacesAt() const { return segments; }
  int64_t ValuesAt() const { return segments + (chosen + 1) / 2; }
  // Words of one rank's message.
  int64_t Words(DType wire) const {
    return ValuesAt() + (chosen * static_cast<int64_t>(SizeOf(wire)) + 3) / 4;
  }
};

// The large weights (comm/pack/large_weights.h) of the buckets (first and last entry of each, both
// inclusive) at a density; buckets without any are left out.
std::vector<TopkBucket> MakeTopkBuckets(const PoolLayout& layout,
                                        const std::vector<std::pair<int, int>>& buckets,
                                        double density, DType wire);

}  // namespace gf

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pool_layout.h"

namespace gf {

// A weight tensor as a matrix: one row per output, all other axes are columns. It travels as two
// factors of `rank` columns each.
struct LowRankMatrix {
  const PoolEntry* entry = nullptr;
  int64_t rows = 0, columns = 0;
  int rank = 0;
  // First element of the matrix's factors in the vectors of all left and of all right factors:
  // [rank][rows] and [rank][columns].
  int64_t left = 0, right = 0;
};

// Consecutive entries of the pool whose left factors travel at once.
struct LowRankBucket {
  int last_entry = 0;      // of the layout; the bucket is complete when it is ready
  int begin = 0, end = 0;  // matrices [begin, end)
  std::string name;        // "left factors of fc6.weight to fc7.weight"
};

// What LOW_RANK makes of a net.
struct LowRankPlan {
  std::vector<LowRankMatrix> matrices;  // in the order of the pool
  std::vector<LowRankBucket> buckets;
  std::vector<ElementRange> whole;          // tensors that travel as a whole
  int64_t left_count = 0, right_count = 0;  // elements of all factors
};

// Whether a tensor travels as factors of a rank: if that halves its bytes, at least.
bool HasLowRank(const PoolEntry& entry, int rank);

// `buckets`: first and last entry of each, both inclusive; those without matrices are left out.
// The layout must outlive the plan.
LowRankPlan PlanLowRank(const PoolLayout& layout, const std::vector<std::pair<int, int>>& buckets,
                        int rank);

// Whether `step` comes before the factors: everything travels in the first warmup_fraction of all
// steps.
bool IsLowRankWarmup(int64_t step, int64_t total_steps, double warmup_fraction);

}  // namespace gf

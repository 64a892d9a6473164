#include "comm/low_rank/matrices.h"

#include "core/error.h"

namespace gf {

bool HasLowRank(const PoolEntry& entry, int rank) {
  if (entry.shape.rank() < 2) return false;
  const int64_t rows = entry.shape[0], columns = entry.shape.count() / rows;
  return 2 * rank * (rows + columns) <= rows * columns;
}

LowRankPlan PlanLowRank(const PoolLayout& layout, const std::vector<std::pair<int, int>>& buckets,
                        int rank) {
  LowRankPlan plan;
  for (const auto& [first, last] : buckets) {
    LowRankBucket bucket;
    bucket.last_entry = last;
    bucket.begin = static_cast<int>(plan.matrices.size());
    for (int e = first; e <= last; ++e) {
      const PoolEntry& entry = layout.entries()[e];
      if (!HasLowRank(entry, rank)) {
        plan.whole.push_back({entry.offset, entry.offset + entry.count});
        continue;
      }
      LowRankMatrix matrix;
      matrix.entry = &entry;
      matrix.rows = entry.shape[0];
      matrix.columns = entry.shape.count() / matrix.rows;
      matrix.rank = rank;
      matrix.left = plan.left_count;
      matrix.right = plan.right_count;
      plan.left_count += rank * matrix.rows;
      plan.right_count += rank * matrix.columns;
      plan.matrices.push_back(matrix);
    }
    bucket.end = static_cast<int>(plan.matrices.size());
    if (bucket.begin == bucket.end) continue;
    bucket.name = StrCat("left factors of ", layout.NameOf(first, last));
    plan.buckets.push_back(bucket);
  }
  return plan;
}

bool IsLowRankWarmup(int64_t step, int64_t total_steps, double warmup_fraction) {
  return static_cast<double>(step) < warmup_fraction * static_cast<double>(total_steps);
}

}  // namespace gf

#pragma once

#include <functional>
#include <vector>

#include "comm/flow/buckets.h"

namespace gf {

// What a step showed: when each entry's gradient was ready, and when backward ended, in seconds
// from the start of the backward pass.
struct BackwardTimes {
  std::vector<double> ready;  // by entry
  double end = 0;
};

// Seconds until the last bucket is reduced, if each starts when it is ready and the one before is
// through; transfer(bytes) is how long an allreduce takes. From the start of backward.
double PredictEnd(const PoolLayout& layout, const std::vector<Bucket>& buckets,
                  int64_t element_bytes, const BackwardTimes& times,
                  const std::function<double(int64_t)>& transfer);

// The thresholds with the earliest predicted end; of those within 1 % of it the ones with the
// fewest buckets. A pure function: ranks with equal arguments choose alike.
Thresholds BestThresholds(const PoolLayout& layout, int64_t element_bytes,
                          const BackwardTimes& times,
                          const std::function<double(int64_t)>& transfer);

}  // namespace gf

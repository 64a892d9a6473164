#include "comm/flow/threshold_choice.h"

#include <algorithm>
#include <limits>

namespace gf {

double PredictEnd(const PoolLayout& layout, const std::vector<Bucket>& buckets,
                  int64_t element_bytes, const BackwardTimes& times,
                  const std::function<double(int64_t)>& transfer) {
  double end = 0, ready = 0;
  int entry = 0;
  for (const Bucket& bucket : buckets) {
    for (; entry <= bucket.last_entry; ++entry) ready = std::max(ready, times.ready[entry]);
    end = std::max(end, ready) + transfer(bucket.count * element_bytes);
  }
  return std::max(end, times.end);
}

Thresholds BestThresholds(const PoolLayout& layout, int64_t element_bytes,
                          const BackwardTimes& times,
                          const std::function<double(int64_t)>& transfer) {
  // Bytes: a bucket per entry, then by factors of four.
  std::vector<int64_t> candidates = {0};
  for (int64_t bytes = int64_t{64} << 10; bytes <= int64_t{256} << 20; bytes *= 4) {
    candidates.push_back(bytes);
  }
  struct Choice {
    Thresholds thresholds;
    double end;
    size_t buckets;
  };
  std::vector<Choice> choices;
  double earliest = std::numeric_limits<double>::infinity();
  for (int64_t middle : candidates) {
    for (int64_t first : candidates) {
      for (int64_t last : candidates) {
        if (first > middle || last > middle) continue;
        const Thresholds thresholds = {first, middle, last};
        const std::vector<Bucket> buckets = CutBuckets(layout, element_bytes, thresholds);
        const double end = PredictEnd(layout, buckets, element_bytes, times, transfer);
        choices.push_back({thresholds, end, buckets.size()});
        earliest = std::min(earliest, end);
      }
    }
  }
  const Choice* best = nullptr;
  for (const Choice& choice : choices) {
    if (choice.end > 1.01 * earliest) continue;
    if (best == nullptr || choice.buckets < best->buckets) best = &choice;
  }
  return best->thresholds;
}

}  // namespace gf

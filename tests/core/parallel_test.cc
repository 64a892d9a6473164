#include "core/parallel.h"

#include <gtest/gtest.h>

#include <mutex>
#include <utility>
#include <vector>

namespace gf {
namespace {

std::vector<std::pair<int64_t, int64_t>> Ranges(int64_t n, int64_t grain) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST(ParallelForTest, CoversEveryIndexExactlyOnce) {
  omp_set_num_threads(4);
  for (int64_t n : {0, 1, 3, 4, 5, 100, 1001}) {
    for (int64_t grain : {1, 7, 64, 5000}) {
      int64_t next = 0;
      for (const auto& range : Ranges(n, grain)) {
        EXPECT_EQ(range.first, next);
        EXPECT_EQ(range.first % grain, 0);
        EXPECT_LT(range.first, range.second);
        next = range.second;
      }
      EXPECT_EQ(next, n) << n << " by " << grain;
    }
  }
}

TEST(ParallelForTest, UsesNoMoreRangesThanThreads) {
  omp_set_num_threads(3);
  EXPECT_LE(Ranges(1000, 1).size(), 3u);
  EXPECT_EQ(Ranges(10, 16).size(), 1u);
}

TEST(ParallelForTest, TheSplitDependsOnTheArgumentsOnly) {
  omp_set_num_threads(4);
  EXPECT_EQ(Ranges(1000, 16), Ranges(1000, 16));
}

}  // namespace
}  // namespace gf

#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
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

TEST(ParallelForFreeTest, CoversEveryIndexExactlyOnceWithThreadsThatNeverMeet) {
  omp_set_num_threads(4);
  for (int threads : {1, 3, 9}) {
    for (int64_t n : {0, 1, 3, 100, 1001}) {
      for (int64_t grain : {1, 7, 5000}) {
        std::vector<std::atomic<int>> visits(n), users(threads);
        ParallelForFree(threads, n, grain, [&](int64_t thread, int64_t begin, int64_t end) {
          ASSERT_GE(thread, 0);
          ASSERT_LT(thread, threads);
          EXPECT_EQ(users[thread]++, 0) << "two calls as thread " << thread;
          EXPECT_EQ(begin % grain, 0);
          EXPECT_LE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i) ++visits[i];
          --users[thread];
        });
        for (int64_t i = 0; i < n; ++i) EXPECT_EQ(visits[i], 1) << i << " of " << n;
      }
    }
  }
}

TEST(ParallelForFreeTest, AFreeThreadTakesTheRangesThatABusyOneLeaves) {
  omp_set_num_threads(2);
  constexpr int64_t kRanges = 100;
  std::atomic<int64_t> others{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  ParallelForFree(2, kRanges, 1, [&](int64_t, int64_t begin, int64_t) {
    if (begin == 0) {
      while (others < kRanges - 1 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      EXPECT_EQ(others, kRanges - 1);
    } else {
      ++others;
    }
  });
  EXPECT_EQ(others, kRanges - 1);
}

}  // namespace
}  // namespace gf

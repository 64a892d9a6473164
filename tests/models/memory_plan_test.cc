#include "models/memory_plan.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace gf {
namespace {

struct Interval {
  size_t bytes;
  int begin, end;
};

// Many random buffers of short and long lives, some of them empty.
std::vector<Interval> RandomIntervals(uint64_t seed) {
  Random random(seed, 1);
  std::vector<Interval> intervals(1 + random.Below(60));
  for (Interval& interval : intervals) {
    interval.bytes = random.Below(8) == 0 ? random.Below(2) : random.Below(5000);
    interval.begin = static_cast<int>(random.Below(40));
    interval.end = interval.begin + static_cast<int>(random.Below(random.Below(4) ? 5 : 40));
  }
  return intervals;
}

TEST(MemoryPlanTest, BuffersThatLiveAtTheSameTimeNeverShareBytes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto intervals = RandomIntervals(seed);
    for (bool reuse : {true, false}) {
      MemoryPlan plan;
      for (const Interval& i : intervals) plan.Add(i.bytes, i.begin, i.end);
      plan.Solve(reuse);
      EXPECT_LE(plan.bytes(), plan.bytes_without_reuse());
      for (size_t a = 0; a < intervals.size(); ++a) {
        const size_t offset = plan.offset(static_cast<int>(a));
        EXPECT_EQ(offset % 256, 0u);
        EXPECT_LE(offset + intervals[a].bytes, plan.bytes());
        for (size_t b = 0; b < a; ++b) {
          const bool together =
              intervals[a].begin <= intervals[b].end && intervals[b].begin <= intervals[a].end;
          if ((reuse && !together) || !intervals[a].bytes || !intervals[b].bytes) continue;
          const size_t other = plan.offset(static_cast<int>(b));
          EXPECT_TRUE(offset + intervals[a].bytes <= other || other + intervals[b].bytes <= offset)
              << "seed " << seed << ", buffers " << a << " and " << b;
        }
      }
    }
  }
}

TEST(MemoryPlanTest, BuffersThatNeverMeetShareMemory) {
  MemoryPlan plan;
  for (int i = 0; i < 10; ++i) plan.Add(1024, 2 * i, 2 * i + 1);
  plan.Solve(true);
  EXPECT_EQ(plan.bytes(), 1024u);
  EXPECT_EQ(plan.bytes_without_reuse(), 10240u);
  plan.Solve(false);
  EXPECT_EQ(plan.bytes(), 10240u);
}

TEST(MemoryPlanTest, AChainNeedsItsTwoLargestNeighbors) {
  MemoryPlan plan;
  for (int i = 0; i < 10; ++i) plan.Add(1280, i, i + 1);
  plan.Solve(true);
  EXPECT_EQ(plan.bytes(), 2560u);
}

TEST(MemoryPlanTest, ExtendLengthensALifeAtBothEnds) {
  MemoryPlan plan;
  const int a = plan.Add(256, 5, 6);
  const int b = plan.Add(256, 0, 1), c = plan.Add(256, 9, 9);
  plan.Solve(true);
  EXPECT_EQ(plan.bytes(), 256u);
  plan.Extend(a, 1, 9);
  plan.Solve(true);
  EXPECT_EQ(plan.bytes(), 512u);
  EXPECT_NE(plan.offset(a), plan.offset(b));
  EXPECT_NE(plan.offset(a), plan.offset(c));
}

TEST(MemoryPlanTest, AnEmptyPlanNeedsNothing) {
  MemoryPlan plan;
  plan.Solve(true);
  EXPECT_EQ(plan.bytes(), 0u);
}

}  // namespace
}  // namespace gf

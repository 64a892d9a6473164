#include "models/arena.h"

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

TEST(ArenaTest, BuffersThatLiveAtTheSameTimeNeverShareBytes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto intervals = RandomIntervals(seed);
    for (bool reuse : {true, false}) {
      Arena arena;
      for (const Interval& i : intervals) arena.Add(i.bytes, i.begin, i.end);
      arena.Solve(reuse);
      EXPECT_LE(arena.bytes(), arena.bytes_without_reuse());
      for (size_t a = 0; a < intervals.size(); ++a) {
        const size_t offset = arena.offset(static_cast<int>(a));
        EXPECT_EQ(offset % 256, 0u);
        EXPECT_LE(offset + intervals[a].bytes, arena.bytes());
        for (size_t b = 0; b < a; ++b) {
          const bool together =
              intervals[a].begin <= intervals[b].end && intervals[b].begin <= intervals[a].end;
          if ((reuse && !together) || !intervals[a].bytes || !intervals[b].bytes) continue;
          const size_t other = arena.offset(static_cast<int>(b));
          EXPECT_TRUE(offset + intervals[a].bytes <= other || other + intervals[b].bytes <= offset)
              << "seed " << seed << ", buffers " << a << " and " << b;
        }
      }
    }
  }
}

TEST(ArenaTest, BuffersThatNeverMeetShareMemory) {
  Arena arena;
  for (int i = 0; i < 10; ++i) arena.Add(1024, 2 * i, 2 * i + 1);
  arena.Solve(true);
  EXPECT_EQ(arena.bytes(), 1024u);
  EXPECT_EQ(arena.bytes_without_reuse(), 10240u);
  arena.Solve(false);
  EXPECT_EQ(arena.bytes(), 10240u);
}

TEST(ArenaTest, AChainNeedsItsTwoLargestNeighbors) {
  Arena arena;
  for (int i = 0; i < 10; ++i) arena.Add(1280, i, i + 1);
  arena.Solve(true);
  EXPECT_EQ(arena.bytes(), 2560u);
}

TEST(ArenaTest, ExtendLengthensALifeAtBothEnds) {
  Arena arena;
  const int a = arena.Add(256, 5, 6);
  const int b = arena.Add(256, 0, 1), c = arena.Add(256, 9, 9);
  arena.Solve(true);
  EXPECT_EQ(arena.bytes(), 256u);
  arena.Extend(a, 1, 9);
  arena.Solve(true);
  EXPECT_EQ(arena.bytes(), 512u);
  EXPECT_NE(arena.offset(a), arena.offset(b));
  EXPECT_NE(arena.offset(a), arena.offset(c));
}

TEST(ArenaTest, AnEmptyArenaNeedsNothing) {
  Arena arena;
  arena.Solve(true);
  EXPECT_EQ(arena.bytes(), 0u);
}

}  // namespace
}  // namespace gf

#include "comm/sparse/chunks.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace gf {
namespace {

using Ranges = std::vector<ElementRange>;

TEST(ChunkGridTest, ThePapersNetworksHaveTheirChunks) {
  EXPECT_EQ(ChunkGrid(60967976).chunks(), 1906);
  EXPECT_EQ(ChunkGrid(25549352).chunks(), 799);
}

TEST(ChunkGridTest, OnlyTheLastChunkIsShorter) {
  for (const int64_t count : {0, 1, 99, 100, 101, 199, 200, 1001}) {
    const ChunkGrid grid(count, 100);
    int64_t next = 0;
    for (int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      EXPECT_EQ(grid.Begin(chunk), next);
      next = grid.End(chunk);
      if (chunk + 1 < grid.chunks()) {
        EXPECT_EQ(next - grid.Begin(chunk), 100);
      } else {
        EXPECT_GT(next, grid.Begin(chunk));
      }
    }
    EXPECT_EQ(next, count);
  }
}

TEST(ChunkGridTest, EveryElementLiesInItsChunk) {
  const ChunkGrid grid(1001, 100);
  for (int64_t i = 0; i < 1001; ++i) {
    const int64_t chunk = grid.ChunkOf(i);
    EXPECT_TRUE(grid.Begin(chunk) <= i && i < grid.End(chunk)) << i;
  }
}

TEST(ChunkSetTest, RangesOfNeighboursAreOne) {
  const ChunkSet set(ChunkGrid(95, 10), {0, 2, 3, 4, 8, 9});
  EXPECT_EQ(set.ElementRanges(0, 95), (Ranges{{0, 10}, {20, 50}, {80, 95}}));
  EXPECT_EQ(set.ElementRanges(5, 85), (Ranges{{5, 10}, {20, 50}, {80, 85}}));
  EXPECT_EQ(set.ElementRanges(31, 32), (Ranges{{31, 32}}));
  EXPECT_EQ(set.ElementRanges(10, 20), Ranges{});
  EXPECT_EQ(set.ElementRanges(9, 21), (Ranges{{9, 10}, {20, 21}}));
  EXPECT_EQ(set.ElementRanges(95, 95), Ranges{});
  EXPECT_EQ(set.ElementRanges(30, 30), Ranges{});
}

TEST(ChunkSetTest, AllIsOneRange) {
  const ChunkSet all = ChunkSet::All(ChunkGrid(95, 10));
  EXPECT_TRUE(all.IsAll());
  EXPECT_EQ(all.ElementRanges(0, 95), (Ranges{{0, 95}}));
  EXPECT_EQ(all.ElementRanges(7, 93), (Ranges{{7, 93}}));
  for (int64_t i = 0; i <= 95; ++i) EXPECT_EQ(all.PackedOffset(i), i);
}

TEST(ChunkSetTest, NothingOfNothing) {
  const ChunkSet all = ChunkSet::All(ChunkGrid(0, 10));
  EXPECT_TRUE(all.IsAll());
  EXPECT_EQ(all.PackedOffset(0), 0);
  EXPECT_EQ(all.ElementRanges(0, 0), Ranges{});
}

TEST(ChunkSetTest, RandomSetsAgreeWithCountingElementByElement) {
  Random random(1, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const ChunkGrid grid(random.Below(300), 1 + random.Below(40));
    std::vector<int64_t> ids;
    for (int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      if (random.Below(2) == 0) ids.push_back(chunk);
    }
    const ChunkSet set(grid, ids);
    EXPECT_EQ(set.ids(), ids);
    const auto important = [&](int64_t element) { return set.Contains(grid.ChunkOf(element)); };

    int64_t packed = 0;
    for (int64_t i = 0; i <= grid.count(); ++i) {
      EXPECT_EQ(set.PackedOffset(i), packed);
      if (i < grid.count()) packed += important(i);
    }

    const int64_t begin = random.Below(grid.count() + 1);
    const int64_t end = begin + random.Below(grid.count() - begin + 1);
    Ranges expected;
    for (int64_t i = begin; i < end; ++i) {
      if (!important(i)) continue;
      if (expected.empty() || expected.back().end != i) expected.push_back({i, i});
      expected.back().end = i + 1;
    }
    EXPECT_EQ(set.ElementRanges(begin, end), expected);
  }
}

TEST(ChunkSetDeathTest, IdsMustAscend) {
  EXPECT_DEATH(ChunkSet(ChunkGrid(95, 10), {2, 2}), "ascending");
  EXPECT_DEATH(ChunkSet(ChunkGrid(95, 10), {10}), "");
}

TEST(ChunkSetTest, OtherRangesAreWhatTheImportantChunksLeave) {
  const ChunkGrid grid(47, 10);
  using Ranges = std::vector<ElementRange>;
  EXPECT_EQ(ChunkSet(grid, {}).OtherRanges(0, 47), (Ranges{{0, 47}}));
  EXPECT_EQ(ChunkSet::All(grid).OtherRanges(0, 47), Ranges());
  EXPECT_EQ(ChunkSet(grid, {0}).OtherRanges(0, 47), (Ranges{{10, 47}}));
  EXPECT_EQ(ChunkSet(grid, {4}).OtherRanges(0, 47), (Ranges{{0, 40}}));
  EXPECT_EQ(ChunkSet(grid, {1, 2, 4}).OtherRanges(0, 47), (Ranges{{0, 10}, {30, 40}}));
  EXPECT_EQ(ChunkSet(grid, {1, 3}).OtherRanges(5, 35), (Ranges{{5, 10}, {20, 30}}));
  EXPECT_EQ(ChunkSet(grid, {1, 3}).OtherRanges(12, 18), Ranges());
  EXPECT_EQ(ChunkSet(grid, {1, 3}).OtherRanges(25, 25), Ranges());
}

}  // namespace
}  // namespace gf

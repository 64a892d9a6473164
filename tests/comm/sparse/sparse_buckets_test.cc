#include "comm/sparse/sparse_buckets.h"

#include <gtest/gtest.h>

#include <vector>

namespace gf {
namespace {

// Entries "p0", "p1", ... of 64 elements each: two chunks of 32.
PoolLayout LayoutOf(int entries) {
  PoolLayout layout;
  for (int i = 0; i < entries; ++i) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(i);
    entry.shape = Shape{64};
    layout.Add(entry);
  }
  return layout;
}

constexpr int64_t kChunk = 32;

// The buckets of a step in which entries become ready one by one.
std::vector<SparseBucket> Buckets(const PoolLayout& layout, const ChunkSet& set,
                                  SparseBuckets* buckets) {
  std::vector<SparseBucket> all;
  buckets->Begin();
  for (int ready = 1; ready <= static_cast<int>(layout.entries().size()); ++ready) {
    if (const auto bucket = buckets->Next(set, ready)) all.push_back(*bucket);
  }
  return all;
}

TEST(SparseBucketsTest, TheFirstBucketHasAThresholdOfItsOwn) {
  const PoolLayout layout = LayoutOf(6);
  const ChunkSet set = ChunkSet::All(ChunkGrid(layout.count(), kChunk));
  SparseBuckets buckets(layout, 4, 64 * 4, 2 * 64 * 4);
  for (int step = 0; step < 2; ++step) {
    const auto all = Buckets(layout, set, &buckets);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].name, "chunks of p0");
    EXPECT_EQ(all[1].name, "chunks of p1 to p2");
    EXPECT_EQ(all[2].name, "chunks of p3 to p4");
    EXPECT_EQ(all[3].name, "chunks of p5");  // the rest, below its threshold
    EXPECT_EQ(all[1].last_entry, 2);
    EXPECT_EQ(all[1].pool, (ElementRange{64, 192}));
    EXPECT_EQ(all[1].packed, (ElementRange{64, 192}));
  }
}

TEST(SparseBucketsTest, OnlyImportantChunksCount) {
  const PoolLayout layout = LayoutOf(4);
  // One chunk of p1 and both of p2; none of p0 and p3.
  const ChunkSet set(ChunkGrid(layout.count(), kChunk), {3, 4, 5});
  SparseBuckets buckets(layout, 4, 2 * kChunk * 4, 1);
  const auto all = Buckets(layout, set, &buckets);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "chunks of p0 to p2");
  EXPECT_EQ(all[0].last_entry, 2);
  EXPECT_EQ(all[0].pool, (ElementRange{0, 192}));
  EXPECT_EQ(all[0].packed, (ElementRange{0, 96}));
}

TEST(SparseBucketsTest, BytesAreThoseOnTheWire) {
  const PoolLayout layout = LayoutOf(4);
  const ChunkSet set = ChunkSet::All(ChunkGrid(layout.count(), kChunk));
  SparseBuckets wide(layout, 4, 64 * 4, 64 * 4), narrow(layout, 2, 64 * 4, 64 * 4);
  EXPECT_EQ(Buckets(layout, set, &wide).size(), 4u);
  EXPECT_EQ(Buckets(layout, set, &narrow).size(), 2u);
}

TEST(SparseBucketsTest, EntriesThatBecomeReadyTogetherShareABucket) {
  const PoolLayout layout = LayoutOf(4);
  const ChunkSet set = ChunkSet::All(ChunkGrid(layout.count(), kChunk));
  SparseBuckets buckets(layout, 4, 1, 1);
  buckets.Begin();
  EXPECT_FALSE(buckets.Next(set, 0));
  EXPECT_EQ(buckets.Next(set, 3)->name, "chunks of p0 to p2");
  EXPECT_FALSE(buckets.Next(set, 3));
  EXPECT_EQ(buckets.Next(set, 4)->name, "chunks of p3");
  EXPECT_FALSE(buckets.Next(set, 4));
}

TEST(SparseBucketsTest, AnEmptyPoolHasNone) {
  const PoolLayout layout;
  SparseBuckets buckets(layout, 4, 0, 0);
  buckets.Begin();
  EXPECT_FALSE(buckets.Next(ChunkSet::All(ChunkGrid(0, kChunk)), 0));
}

}  // namespace
}  // namespace gf

#include "comm/flow/buckets.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace gf {
namespace {

// Entries of so many elements; all are multiples of the alignment, so that there are no gaps.
PoolLayout LayoutOf(const std::vector<int64_t>& counts) {
  PoolLayout layout;
  for (int64_t count : counts) {
    PoolEntry entry;
    entry.name = std::to_string(layout.entries().size());
    entry.shape = Shape{count};
    layout.Add(entry);
  }
  return layout;
}

std::vector<int> LastEntries(const std::vector<int64_t>& counts, const Thresholds& thresholds) {
  std::vector<int> last;
  for (const Bucket& bucket : CutBuckets(LayoutOf(counts), 1, thresholds)) {
    last.push_back(bucket.last_entry);
  }
  return last;
}

using Entries = std::vector<int>;

TEST(BucketsTest, ThresholdZeroMakesABucketPerEntry) {
  EXPECT_EQ(LastEntries({32, 64, 32}, {}), (Entries{0, 1, 2}));
}

TEST(BucketsTest, NoLimitMakesOneBucket) {
  EXPECT_EQ(LastEntries({32, 64, 32}, {INT64_MAX, INT64_MAX, INT64_MAX}), (Entries{2}));
}

TEST(BucketsTest, EachPlaceHasItsThreshold) {
  // First: 64 reached by two entries; middle: 96 by three; last: the tail of 32.
  EXPECT_EQ(LastEntries({32, 32, 32, 32, 32, 32, 32, 32, 32}, {64, 96, 32}), (Entries{1, 4, 7, 8}));
}

TEST(BucketsTest, ARestTooSmallForABucketJoinsTheOneBefore) {
  EXPECT_EQ(LastEntries({32, 96, 32, 32}, {32, 96, 32}), (Entries{0, 2, 3}));
}

TEST(BucketsTest, AnEntryLargerThanTheThresholdIsNotCut) {
  EXPECT_EQ(LastEntries({3200, 32, 32}, {64, 64, 64}), (Entries{0, 2}));
}

TEST(BucketsTest, BytesAreThoseThatTravel) {
  const PoolLayout layout = LayoutOf({32, 32, 32, 32});
  EXPECT_EQ(CutBuckets(layout, 4, {128, 128, 128}).size(), 4u);
  EXPECT_EQ(CutBuckets(layout, 2, {128, 128, 128}).size(), 2u);
}

TEST(BucketsTest, BucketsCoverEveryEntryOnceInOrder) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::vector<int64_t> counts(random() % 40);
    for (int64_t& count : counts) count = 1 + random() % 1000;
    const PoolLayout layout = LayoutOf(counts);
    const auto bytes = [&] { return static_cast<int64_t>(random() % 3000); };
    const Thresholds thresholds = {bytes(), bytes(), bytes()};
    int next = 0;
    for (const Bucket& bucket : CutBuckets(layout, 4, thresholds)) {
      ASSERT_EQ(bucket.first_entry, next);
      ASSERT_GE(bucket.last_entry, bucket.first_entry);
      const PoolEntry &first = layout.entries()[next], &last = layout.entries()[bucket.last_entry];
      ASSERT_EQ(bucket.offset, first.offset);
      ASSERT_EQ(bucket.offset + bucket.count, last.offset + last.count);
      next = bucket.last_entry + 1;
    }
    ASSERT_EQ(next, static_cast<int>(counts.size()));
  }
}

}  // namespace
}  // namespace gf

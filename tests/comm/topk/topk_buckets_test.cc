#include "comm/topk/topk_buckets.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

PoolEntry Entry(const char* name, const Shape& shape) {
  PoolEntry entry;
  entry.name = name;
  entry.shape = shape;
  entry.count = shape.count();
  return entry;
}

TEST(TopkDensityTest, FallsExponentially) {
  EXPECT_EQ(TopkDensityAt(0, 1000, 0.01, 0.1), 1);
  EXPECT_NEAR(TopkDensityAt(50, 1000, 0.01, 0.1), 0.1, 1e-12);
  EXPECT_EQ(TopkDensityAt(100, 1000, 0.01, 0.1), 0.01);
  EXPECT_EQ(TopkDensityAt(999, 1000, 0.01, 0.1), 0.01);
  EXPECT_EQ(TopkDensityAt(0, 1000, 0.01, 0), 0.01);
}

// A gathered element of BF16 takes 4 bytes from each rank, an allreduced one 2 * 2.
TEST(TopkLimitTest, IsWhereMessagesAreAsLongAsVectors) {
  EXPECT_DOUBLE_EQ(TopkLimit(4, DType::kBF16), 0.25);
  EXPECT_DOUBLE_EQ(TopkLimit(4, DType::kFP32), 8.0 / 24);
  EXPECT_DOUBLE_EQ(TopkLimit(1, DType::kFP32), 1);
}

TEST(TopkBucketsTest, HoldWeightsAndTheirPlacesInTheMessage) {
  PoolLayout layout;
  layout.Add(Entry("fc.weight", {100, 1000}));  // two segments
  layout.Add(Entry("fc.bias", {100000}));
  layout.Add(Entry("conv.weight", {64, 64, 3, 3}));
  layout.Add(Entry("depthwise.weight", {64, 1, 3, 3}));
  layout.Add(Entry("last.weight", {1, 4096}));
  const auto buckets =
      MakeTopkBuckets(layout, {{0, 1}, {2, 2}, {3, 3}, {4, 4}}, 0.001, DType::kBF16);
  ASSERT_EQ(buckets.size(), 3u);  // none of the small tensor
  const TopkBucket& first = buckets[0];
  ASSERT_EQ(first.entries.size(), 1u);
  EXPECT_EQ(first.last_entry, 1);
  EXPECT_EQ(first.entries[0].begin, 0);
  EXPECT_EQ(first.entries[0].count, 100000);
  EXPECT_EQ(first.entries[0].chosen, 100);
  EXPECT_EQ(first.segments, 2);
  EXPECT_EQ(first.PlacesAt(), 2);
  EXPECT_EQ(first.ValuesAt(), 52);
  EXPECT_EQ(first.Words(DType::kBF16), 102);
  EXPECT_EQ(first.Words(DType::kFP32), 152);
  EXPECT_EQ(buckets[1].words_before, 102);
  EXPECT_EQ(buckets[1].chosen, 37);
  EXPECT_EQ(buckets[1].Words(DType::kBF16), 1 + 19 + 19);
  EXPECT_EQ(buckets[2].words_before, 102 + 39);
  EXPECT_EQ(buckets[2].entries[0].chosen, 4);

  const auto whole = MakeTopkBuckets(layout, {{0, 4}}, 0.001, DType::kFP32);
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_EQ(whole[0].entries.size(), 3u);
  EXPECT_EQ(whole[0].entries[1].first_chosen, 100);
  EXPECT_EQ(whole[0].entries[2].first_chosen, 137);
  EXPECT_EQ(whole[0].entries[2].first_segment, 3);
  EXPECT_EQ(whole[0].chosen, 141);
}

// Also of the smallest tensor some gradient travels.
TEST(TopkBucketsTest, ChooseAtLeastOne) {
  PoolLayout layout;
  layout.Add(Entry("w", {64, 64}));
  EXPECT_EQ(MakeTopkBuckets(layout, {{0, 0}}, 1e-4, DType::kFP32)[0].chosen, 1);
}

}  // namespace
}  // namespace gf

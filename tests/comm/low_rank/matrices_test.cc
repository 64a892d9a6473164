#include "comm/low_rank/matrices.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

PoolEntry Entry(const char* name, const Shape& shape) {
  PoolEntry entry;
  entry.name = name;
  entry.shape = shape;
  return entry;
}

TEST(LowRankPlanTest, HoldsMatricesThatFactorsHalve) {
  PoolLayout layout;
  layout.Add(Entry("fc.weight", {100, 1000}));
  layout.Add(Entry("fc.bias", {100}));
  layout.Add(Entry("conv.weight", {64, 32, 3, 3}));
  layout.Add(Entry("small.weight", {8, 8}));
  const LowRankPlan plan = PlanLowRank(layout, {{0, 1}, {2, 2}, {3, 3}}, 4);
  ASSERT_EQ(plan.matrices.size(), 2u);
  EXPECT_EQ(plan.matrices[0].rows, 100);
  EXPECT_EQ(plan.matrices[0].columns, 1000);
  EXPECT_EQ(plan.matrices[1].rows, 64);
  EXPECT_EQ(plan.matrices[1].columns, 288);
  EXPECT_EQ(plan.matrices[1].left, 400);
  EXPECT_EQ(plan.matrices[1].right, 4000);
  EXPECT_EQ(plan.left_count, 4 * 164);
  EXPECT_EQ(plan.right_count, 4 * 1288);
  ASSERT_EQ(plan.buckets.size(), 2u);  // the third has none
  EXPECT_EQ(plan.buckets[0].last_entry, 1);
  EXPECT_EQ(plan.buckets[0].name, "left factors of fc.weight to fc.bias");
  EXPECT_EQ(plan.buckets[1].begin, 1);
  EXPECT_EQ(plan.buckets[1].end, 2);
  ASSERT_EQ(plan.whole.size(), 2u);
  EXPECT_EQ(plan.whole[0].end - plan.whole[0].begin, 100);
  EXPECT_EQ(plan.whole[1].end - plan.whole[1].begin, 64);
}

TEST(LowRankPlanTest, HigherRanksLeaveFewerMatrices) {
  const PoolEntry entry = Entry("w", {100, 100});
  EXPECT_TRUE(HasLowRank(entry, 25));
  EXPECT_FALSE(HasLowRank(entry, 26));
  EXPECT_FALSE(HasLowRank(Entry("b", {10000}), 1));
}

TEST(LowRankWarmupTest, IsAFractionOfAllSteps) {
  EXPECT_TRUE(IsLowRankWarmup(49, 1000, 0.05));
  EXPECT_FALSE(IsLowRankWarmup(50, 1000, 0.05));
  EXPECT_FALSE(IsLowRankWarmup(0, 1000, 0));
}

}  // namespace
}  // namespace gf

#include "solvers/evaluate/class_tally.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/local/communicator.h"

namespace gf {
namespace {

TEST(TallyTest, CountsTop1Top5AndTheMeanLoss) {
  ClassTally tally(7);
  tally.Add({0, 1, 2, 3, 4, 5, 6,   // label 6: first
             6, 5, 4, 3, 2, 1, 0,   // label 4: fifth
             6, 5, 4, 3, 2, 1, 0},  // label 5: sixth
            {6, 4, 5}, 3);
  EXPECT_EQ(tally.images(), 3);
  EXPECT_DOUBLE_EQ(tally.top1(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(tally.top5(), 2.0 / 3);
  double sum = 0;
  for (int i = 0; i < 7; ++i) sum += std::exp(i);
  EXPECT_NEAR(tally.loss(), std::log(sum) - (6 + 2 + 1) / 3.0, 1e-12);
  EXPECT_EQ(tally.class_images(), (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(tally.class_right(), (std::vector<int64_t>{0, 0, 0, 0, 0, 0, 1}));
}

TEST(TallyTest, LeavesOutThePadding) {
  ClassTally tally(2);
  tally.Add({1, 0, 1, 0, 1, 0}, {0, 0, 0}, 2);
  EXPECT_EQ(tally.images(), 2);
  EXPECT_EQ(tally.top1(), 1);
}

TEST(TallyTest, EqualScoresCountForTheLowerClassOnly) {
  ClassTally tally(2);
  tally.Add({1, 1, 1, 1}, {0, 1}, 2);
  EXPECT_EQ(tally.top1(), 0.5);
}

TEST(TallyTest, NanIsNeverRight) {
  ClassTally tally(2);
  tally.Add({NAN, NAN, NAN, 1, 0, NAN}, {0, 0, 0}, 3);
  EXPECT_EQ(tally.top1(), 0);
  EXPECT_TRUE(std::isnan(tally.loss()));
}

TEST(TallyTest, LossOfHugeScoresIsFinite) {
  ClassTally tally(2);
  tally.Add({1e30f, -1e30f}, {0}, 1);
  EXPECT_EQ(tally.loss(), 0);
}

TEST(TallyTest, RanksAddUp) {
  RunLocal(3, 20, [](Communicator* comm) {
    ClassTally tally(2);
    const int64_t images = comm->rank();  // 0, 1, 2
    tally.Add({1, 0, 0, 1}, {0, 0}, images);
    tally.Reduce(comm);
    EXPECT_EQ(tally.images(), 3);
    EXPECT_DOUBLE_EQ(tally.top1(), 2.0 / 3);
    EXPECT_EQ(tally.class_images(), (std::vector<int64_t>{3, 0}));
    EXPECT_EQ(tally.class_right(), (std::vector<int64_t>{2, 0}));
  });
}

}  // namespace
}  // namespace gf

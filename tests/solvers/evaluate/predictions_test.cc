#include "solvers/evaluate/predictions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gf {
namespace {

TEST(Predictions, TheHighestScoreCountsAndOfEqualOnesTheLowestClass) {
  Predictions predictions(5);
  predictions.Add({0, 2, 1, 3, 3, 1, -1, -2, -1}, 3, {4, 0, 2});
  EXPECT_EQ(predictions.of(4), 1);
  EXPECT_EQ(predictions.of(0), 0);
  EXPECT_EQ(predictions.of(2), 0);
  EXPECT_EQ(predictions.of(1), Predictions::kNone);
}

TEST(Predictions, ANumberThatIsNoneIsNoPrediction) {
  Predictions predictions(1);
  predictions.Add({1, NAN, 5}, 3, {0});
  EXPECT_EQ(predictions.of(0), Predictions::kNotANumber);
  const auto confusions = TopConfusions(predictions, {2}, 9);
  ASSERT_EQ(confusions.size(), 1u);
  EXPECT_EQ(confusions[0].predicted, Predictions::kNotANumber);
}

TEST(Predictions, ConfusionsAreCountedAndOrdered) {
  Predictions predictions(7);
  // Labels 0 0 0 1 1 2 2, taken for 1 1 0 0 1 0 (the last is left out).
  predictions.Add({0, 1, 0, /**/ 0, 1, 0, /**/ 1, 0, 0, /**/ 1, 0, 0, /**/ 0, 1, 0, /**/ 1, 0, 0},
                  3, {0, 1, 2, 3, 4, 5});
  const auto confusions = TopConfusions(predictions, {0, 0, 0, 1, 1, 2, 2}, 2);
  ASSERT_EQ(confusions.size(), 2u);
  EXPECT_EQ(confusions[0].label, 0);
  EXPECT_EQ(confusions[0].predicted, 1);
  EXPECT_EQ(confusions[0].images, 2);
  EXPECT_EQ(confusions[1].label, 1);
  EXPECT_EQ(confusions[1].images, 1);
}

}  // namespace
}  // namespace gf

#include "comm/flow/duration_curve.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

TEST(DurationCurveTest, LinesBetweenAndBeyondTheMeasuredSizes) {
  DurationCurve curve;
  EXPECT_TRUE(curve.empty());
  curve.Add(1000, 2);
  EXPECT_FALSE(curve.empty());
  EXPECT_EQ(curve.Seconds(1), 2);
  EXPECT_EQ(curve.Seconds(3000), 6) << "in proportion";
  curve.Add(2000, 3);
  curve.Add(4000, 9);
  EXPECT_EQ(curve.Seconds(1), 2);
  EXPECT_EQ(curve.Seconds(1000), 2);
  EXPECT_EQ(curve.Seconds(1500), 2.5);
  EXPECT_EQ(curve.Seconds(2000), 3);
  EXPECT_EQ(curve.Seconds(3000), 6);
  EXPECT_EQ(curve.Seconds(4000), 9);
  curve.Add(5000, 100);
  EXPECT_EQ(curve.Seconds(9000), 198) << "the line from 1,000 bytes on";
}

TEST(DurationCurveTest, MoreBytesDoNotTakeLessTimeBeyondThem) {
  DurationCurve curve;
  curve.Add(1000, 2);
  curve.Add(2000, 1);
  EXPECT_EQ(curve.Seconds(1500), 1.5) << "as measured";
  EXPECT_EQ(curve.Seconds(1 << 20), 1);
}

}  // namespace
}  // namespace gf

#include "tools/gfbench/measure.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace gf {
namespace {

TEST(MeasureTest, GivesTheMedianOfTheRepetitionsPerCall) {
  int calls = 0;
  const Measured measured = Measure("test", 2, 3, [&](Parts* parts) {
    ++calls;
    const double seconds = calls * calls;  // 1 4, 9 16, 25 36
    (*parts)["half"] += seconds / 2;
    return seconds;
  });
  EXPECT_EQ(calls, 6);
  EXPECT_DOUBLE_EQ(measured.seconds, 12.5);
  EXPECT_DOUBLE_EQ(measured.parts.at("half"), 6.25);
}

TEST(MeasureTest, OneRepetitionIsItsOwnMedian) {
  const Measured measured = Measure("test", 1, 1, [](Parts* parts) { return (*parts)["all"] = 3; });
  EXPECT_DOUBLE_EQ(measured.seconds, 3);
  EXPECT_DOUBLE_EQ(measured.parts.at("all"), 3);
}

TEST(MeasureTest, AnErrorEndsTheBenchmarkAndComesOut) {
  int calls = 0;
  EXPECT_THROW(Measure("test", 2, 3,
                       [&](Parts*) -> double {
                         if (++calls == 3) ThrowUserError("enough");
                         return 1;
                       }),
               UserError);
  EXPECT_EQ(calls, 3);
  EXPECT_DOUBLE_EQ(Measure("again", 1, 2, [](Parts*) { return 5.0; }).seconds, 5);
}

}  // namespace
}  // namespace gf

#include "core/shape.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

TEST(ShapeTest, CountsElements) {
  const Shape shape{64, 3, 227, 227};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.count(), 64 * 3 * 227 * 227);
  EXPECT_EQ(shape.count(1, 3), 3 * 227);
  EXPECT_EQ(shape.count(2, 2), 1);
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ((Shape{5, 0}).count(), 0);
}

TEST(ShapeTest, NegativeAxesCountFromTheEnd) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 2);
}

TEST(ShapeTest, PrintsItself) {
  EXPECT_EQ((Shape{64, 3, 227, 227}).ToString(), "64x3x227x227");
  EXPECT_EQ(Shape().ToString(), "scalar");
}

TEST(ShapeTest, ComparesByExtents) {
  EXPECT_EQ((Shape{2, 3}), Shape(std::vector<int64_t>{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(ShapeTest, SanityRefusesHostileExtents) {
  EXPECT_TRUE(IsSane(Shape{1, 1}));
  EXPECT_TRUE(IsSane(Shape{kMaxElements}));
  EXPECT_FALSE(IsSane(Shape{kMaxElements, 2}));
  EXPECT_FALSE(IsSane(Shape{INT64_MAX, INT64_MAX}));
  EXPECT_FALSE(IsSane(Shape{3, 0}));
  EXPECT_FALSE(IsSane(Shape{3, -1}));
  EXPECT_EQ(Impossible(Shape{3, 0}),
            "impossible shape 3x0, expected sides of 1 or more and at most 1099511627776 (2^40) "
            "elements");
  EXPECT_EQ(Impossible(Shape{-1}, "output shape").find("impossible output shape -1, expected"), 0u);
}

TEST(ShapeDeathTest, AxisOutOfRangeIsABug) {
  EXPECT_DEATH((Shape{2, 3})[2], "axis 2 of 2x3");
  EXPECT_DEATH((Shape{2, 3})[-3], "axis -3 of 2x3");
}

TEST(ShapeDeathTest, OverflowIsABug) { EXPECT_DEATH((Shape{INT64_MAX, 2}).count(), "overflows"); }

}  // namespace
}  // namespace gf

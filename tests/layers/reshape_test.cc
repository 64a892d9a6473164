// Flatten, Reshape, Split, Silence.

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using ReshapeTest = DeviceTest;

LayerCase Make(std::string prototxt, Shape bottom) {
  LayerCase test;
  test.prototxt = std::move(prototxt);
  test.bottoms = {std::move(bottom)};
  return test;
}

LayerCase Reshape(const std::string& fields, Shape bottom = {2, 8, 3}) {
  return Make("type: 'Reshape' reshape_param { " + fields + " }", std::move(bottom));
}

LayerCase Flatten(const std::string& fields) {
  return Make("type: 'Flatten' flatten_param { " + fields + " }", {2, 3, 4, 5});
}

Shape Top(const LayerCase& test) { return MakeLayer(test)->tops()[0]; }

TEST(Flatten, MergesAxes) {
  EXPECT_EQ(Top(Flatten("")), (Shape{2, 60}));
  EXPECT_EQ(Top(Flatten("axis: 0")), (Shape{120}));
  EXPECT_EQ(Top(Flatten("axis: 1 end_axis: 2")), (Shape{2, 12, 5}));
  EXPECT_EQ(Top(Flatten("axis: -3 end_axis: -2")), (Shape{2, 12, 5}));
}

TEST(Flatten, RefusesAxesOutOfRangeOrOrder) {
  ExpectSetUpError(Flatten("axis: 4"), "axis 4 is out of range");
  ExpectSetUpError(Flatten("axis: 2 end_axis: 1"), "lies before axis 2");
}

TEST(Reshape, FollowsCaffesRules) {
  EXPECT_EQ(Top(Reshape("shape { dim: [0, 2, -1] }")), (Shape{2, 2, 12}));
  EXPECT_EQ(Top(Reshape("shape { dim: [6, 8] }")), (Shape{6, 8}));
  EXPECT_EQ(Top(Reshape("shape { dim: [2, 4] } axis: 1 num_axes: 1")), (Shape{2, 2, 4, 3}));
  EXPECT_EQ(Top(Reshape("shape { dim: [-1] } axis: 1")), (Shape{2, 24}));
  EXPECT_EQ(Top(Reshape("shape { dim: [1, 1] } axis: -1")), (Shape{2, 8, 3, 1, 1}));
  EXPECT_EQ(Top(Reshape("shape { dim: [1] } axis: 1 num_axes: 0")), (Shape{2, 1, 8, 3}));
  EXPECT_EQ(Top(Reshape("shape { dim: [3, 0] } axis: -3", {4, 3, 7})), (Shape{4, 3, 7}));
}

TEST(Reshape, RefusesInvalidShapesAndSettings) {
  ExpectSetUpError(Reshape("shape { dim: [5, 5] }"), "has 25 elements, bottom 2x8x3 has 48");
  ExpectSetUpError(Reshape("shape { dim: [-1, 5] }"), "not a multiple");
  ExpectSetUpError(Reshape("shape { dim: [-1, -1] }"), "only one dim");
  ExpectSetUpError(Reshape("shape { dim: [-2] }"), "dim -2");
  ExpectSetUpError(Reshape("shape { dim: [2, 8, 3, 0] }"), "no axis 3");
  ExpectSetUpError(Reshape("shape { dim: [4] } axis: 4"), "out of range");
  ExpectSetUpError(Reshape("shape { dim: [4] } axis: 1 num_axes: 3"), "out of range");
  ExpectSetUpError(Reshape("shape { dim: [4611686018427387904, 4] }"), "dim 4611686018427387904");
  ExpectSetUpError(
      Reshape("shape { dim: [1099511627776, 1099511627776] }"),
      "impossible shape 1099511627776x1099511627776, expected sides of 1 or more and at most "
      "1099511627776 (2^40)");
}

TEST_P(ReshapeTest, KeepsTheOrderOfTheElements) {
  const Values x = RandomValues(48, 4);
  EXPECT_EQ(DeviceTest::Top(Reshape("shape { dim: [6, 8] }"), {x}), x);
  EXPECT_EQ(DeviceTest::Top(Make("type: 'Flatten'", {2, 8, 3}), {x}), x);
}

TEST_P(ReshapeTest, SplitCopiesItsBottomAndAddsUpGradients) {
  LayerCase test = Make("type: 'Split'", {3});
  test.tops = 3;
  LayerRun run(test, Options());
  run.SetBottom(0, {1, 2, 3});
  run.Forward();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run.Top(i), (Values{1, 2, 3}));
    run.SetTopDiff(i, {1, 10.f * i, -1});
  }
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{3, 30, -3}));
}

TEST_P(ReshapeTest, SilenceTakesAnything) {
  LayerCase test = Make("type: 'Silence'", {3});
  test.bottoms.push_back({2, 2});
  test.tops = 0;
  LayerRun run(test, Options());
  run.Forward();
  EXPECT_FALSE(run.HasBottomDiff(0));
}

GF_FOR_EVERY_DEVICE(ReshapeTest);

}  // namespace
}  // namespace gf

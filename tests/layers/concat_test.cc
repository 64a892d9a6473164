#include <numeric>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using ConcatTest = DeviceTest;

TEST_P(ConcatTest, ConcatenatesBottoms) {
  const std::vector<Values> bottoms = {{1, 2, 3, 4}, {5, 6}};
  EXPECT_EQ(Top(Case("type: 'Concat'", {{2, 2}, {2, 1}}), bottoms), (Values{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(Top(Case("type: 'Concat' concat_param { axis: -2 }", {{2, 2}, {1, 2}}), bottoms),
            (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Top(Case("type: 'Concat' concat_param { concat_dim: 0 }", {{2, 2}, {1, 2}}), bottoms),
            (Values{1, 2, 3, 4, 5, 6}));
}

TEST_P(ConcatTest, JoinsMoreBottomsThanOneLaunchTakes) {
  std::vector<Shape> shapes;
  std::vector<Values> bottoms;
  Values expected(2 * 40 * 41 / 2);
  // Bottom i has i + 1 channels; its values say where they come from.
  for (int i = 0, begin = 0; i < 40; begin += ++i) {
    shapes.push_back({2, i + 1});
    bottoms.emplace_back();
    for (int row = 0; row < 2; ++row) {
      for (int c = 0; c <= i; ++c) {
        bottoms.back().push_back(static_cast<float>(1000 * row + 50 * i + c));
        expected[row * 40 * 41 / 2 + begin + c] = bottoms.back().back();
      }
    }
  }
  EXPECT_EQ(Top(Case("type: 'Concat'", shapes), bottoms), expected);
}

TEST_P(ConcatTest, KeepsBlockedLayoutsWhereBlocksAreWhole) {
  RunOptions options = Options();
  options.format = "blocked";
  LayerRun whole(Case("type: 'Concat'", {{2, 32, 3, 3}, {2, 5, 3, 3}}), options);
  EXPECT_FALSE(whole.setup().tops[0].layout.plain());
  LayerRun split(Case("type: 'Concat'", {{2, 5, 3, 3}, {2, 32, 3, 3}}), options);
  // Blocks of channels are the processor's.
  EXPECT_EQ(split.setup().tops[0].layout.plain(), GetParam() == "cpu");
}

TEST_P(ConcatTest, HasTheShapeOfThePartsTogether) {
  EXPECT_EQ(MakeLayer(Case("type: 'Concat'", {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}))->tops()[0],
            (Shape{2, 9, 4}));
}

TEST_P(ConcatTest, RefusesBottomsThatDoNotFit) {
  ExpectSetUpError(Case("type: 'Concat'", {{2, 3, 4}, {2, 3, 5}}),
                   "bottom 1 is 2x3x5 and bottom 0 is 2x3x4");
  ExpectSetUpError(Case("type: 'Concat'", {{2, 3, 4}, {2, 3}}), "bottom 1 is 2x3");
  ExpectSetUpError(Case("type: 'Concat' concat_param { axis: 3 }", {{2, 3}, {2, 3}}),
                   "axis 3 is out of range");
  ExpectSetUpError(Case("type: 'Concat' concat_param { axis: 1 concat_dim: 1 }", {{2, 3}, {2, 3}}),
                   "concat_dim");
}

GF_FOR_EVERY_DEVICE(ConcatTest);

}  // namespace
}  // namespace gf

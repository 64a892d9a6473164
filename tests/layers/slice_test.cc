#include "tests/layers/device_test.h"

namespace gf {
namespace {

using SliceTest = DeviceTest;

LayerCase Slice(const std::string& param, const Shape& bottom, int tops) {
  LayerCase test;
  test.name = "test";
  test.prototxt = "type: 'Slice' slice_param { " + param + " }";
  test.bottoms = {bottom};
  test.tops = tops;
  return test;
}

// The tops' values.
std::vector<Values> Tops(const LayerCase& test, const Values& bottom, const RunOptions& options) {
  LayerRun run(test, options);
  run.SetBottom(0, bottom);
  run.Forward();
  std::vector<Values> tops;
  for (int i = 0; i < test.tops; ++i) tops.push_back(run.Top(i));
  return tops;
}

TEST_P(SliceTest, DividesItsBottom) {
  const Values bottom = {1, 2, 5, 3, 4, 6};
  using Tops = std::vector<Values>;
  EXPECT_EQ(gf::Tops(Slice("slice_point: 2", {2, 3}, 2), bottom, Options()),
            (Tops{{1, 2, 3, 4}, {5, 6}}));
  EXPECT_EQ(gf::Tops(Slice("axis: -2", {2, 3}, 2), bottom, Options()),
            (Tops{{1, 2, 5}, {3, 4, 6}}));
  EXPECT_EQ(gf::Tops(Slice("slice_dim: 0", {3, 2}, 3), bottom, Options()),
            (Tops{{1, 2}, {5, 3}, {4, 6}}));
  EXPECT_EQ(gf::Tops(Slice("", {2, 3}, 1), bottom, Options()), (Tops{bottom}));
}

TEST_P(SliceTest, HasMoreTopsThanOneLaunchTakes) {
  Values bottom(2 * 40);
  for (size_t i = 0; i < bottom.size(); ++i) bottom[i] = static_cast<float>(i);
  const std::vector<Values> tops = Tops(Slice("", {2, 40}, 40), bottom, Options());
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(tops[i], (Values{static_cast<float>(i), static_cast<float>(40 + i)}));
  }
}

TEST_P(SliceTest, KeepsBlockedLayoutsWhereBlocksAreWhole) {
  RunOptions options = Options();
  options.format = "blocked";
  LayerRun whole(Slice("slice_point: 32", {2, 37, 3, 3}, 2), options);
  EXPECT_FALSE(whole.setup().tops[0].layout.plain());
  LayerRun split(Slice("slice_point: 5", {2, 37, 3, 3}, 2), options);
  // Blocks of channels are the processor's.
  EXPECT_EQ(split.setup().tops[0].layout.plain(), GetParam() == "cpu");
}

TEST_P(SliceTest, AnUnusedTopHasNoGradient) {
  RunOptions options = Options();
  options.top_diffs = 0;  // of the first top
  LayerRun run(Slice("slice_point: 2", {1, 3}, 2), options);
  run.SetTopDiff(1, {7});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{0, 0, 7}));
}

TEST_P(SliceTest, RefusesPointsThatDoNotFit) {
  const auto refused = [](const std::string& param, int tops, const std::string& message) {
    ExpectSetUpError(Slice(param, {2, 9, 4}, tops), message);
  };
  refused("slice_point: 9", 2, "slice_point must rise from 1 to 8");
  refused("slice_point: 0", 2, "slice_point must rise");
  refused("slice_point: [4, 4]", 3, "slice_point must rise");
  refused("slice_point: 4000000000", 2, "slice_point must rise");
  refused("slice_point: 4", 3, "1 slice_point for 3 tops; expected 2");
  refused("", 2, "not a multiple of 2");
  refused("axis: 3", 2, "axis 3 is out of range");
  refused("axis: 1 slice_dim: 1", 3, "slice_dim");
}

GF_FOR_EVERY_DEVICE(SliceTest);

}  // namespace
}  // namespace gf

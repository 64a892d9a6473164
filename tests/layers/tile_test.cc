#include "tests/layers/device_test.h"

namespace gf {
namespace {

class TileTest : public DeviceTest {
 protected:
  static LayerCase Tile(const std::string& fields, const Shape& bottom) {
    return Case("type: 'Tile' tile_param { " + fields + " }", {bottom});
  }
};

TEST_P(TileTest, RepeatsItsBottom) {
  const Values bottom = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Top(Tile("tiles: 2", {2, 3}), {bottom}), (Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(Top(Tile("axis: 0 tiles: 2", {2, 3}), {bottom}),
            (Values{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Top(Tile("axis: -1 tiles: 3", {1, 3, 2}), {bottom}),
            (Values{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6}));
  EXPECT_EQ(Top(Tile("tiles: 1", {2, 3}), {bottom}), bottom);
  EXPECT_EQ(MakeLayer(Tile("axis: -2 tiles: 3", {2, 4, 5}))->tops()[0], (Shape{2, 12, 5}));
}

TEST_P(TileTest, AddsUpTheGradientsOfTheCopies) {
  LayerRun run(Tile("tiles: 3", {2, 2}), Options());
  run.SetTopDiff(0, {1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{111, 222, 333, 444}));
}

TEST_P(TileTest, KeepsBlockedLayoutsWhereBlocksAreWhole) {
  RunOptions options = Options();
  options.format = "blocked";
  const LayerRun whole(Tile("tiles: 2", {2, 32, 3, 3}), options);
  EXPECT_FALSE(whole.setup().tops[0].layout.plain());
  const LayerRun split(Tile("tiles: 2", {2, 5, 3, 3}), options);
  // Blocks of channels are the processor's.
  EXPECT_EQ(split.setup().tops[0].layout.plain(), GetParam() == "cpu");
}

TEST_P(TileTest, RefusesNumbersOfTilesAndAxesThatDoNotFit) {
  ExpectSetUpError(Tile("", {2, 3}), "tile_param.tiles is 0, must be at least 1");
  ExpectSetUpError(Tile("tiles: -2", {2, 3}), "tile_param.tiles is -2, must be at least 1");
  ExpectSetUpError(Tile("tiles: 2000000000", {4096, 4096}),
                   "tile_param.tiles is 2000000000, which is too large for a bottom of 4096x4096");
  ExpectSetUpError(Tile("axis: 2 tiles: 2", {2, 3}), "axis 2 is out of range");
}

GF_FOR_EVERY_DEVICE(TileTest);

}  // namespace
}  // namespace gf

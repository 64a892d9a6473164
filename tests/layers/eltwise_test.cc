#include "tests/layers/device_test.h"

namespace gf {
namespace {

using EltwiseTest = DeviceTest;

const Shape kThree = {3};
const std::vector<Values> kBottoms = {{1, -2, 3}, {4, 5, -6}, {-1, 5, 2}};

TEST_P(EltwiseTest, AddsWithCoefficients) {
  EXPECT_EQ(
      Top(Case("type: 'Eltwise' eltwise_param { coeff: [1, -2, 0.5] }", {kThree, kThree, kThree}),
          kBottoms),
      (Values{-7.5f, -9.5f, 16}));
}

TEST_P(EltwiseTest, Multiplies) {
  EXPECT_EQ(Top(Case("type: 'Eltwise' eltwise_param { operation: PROD }", {kThree, kThree, kThree}),
                kBottoms),
            (Values{-4, -50, -36}));
}

TEST_P(EltwiseTest, TakesTheMaximum) {
  EXPECT_EQ(Top(Case("type: 'Eltwise' eltwise_param { operation: MAX }", {kThree, kThree, kThree}),
                kBottoms),
            (Values{4, 5, 3}));
}

TEST_P(EltwiseTest, FusedReluClipsTheResult) {
  EXPECT_EQ(Top(Case("type: 'Eltwise' fusion { relu: true }", {kThree, kThree, kThree}), kBottoms),
            (Values{4, 8, 0}));
}

TEST_P(EltwiseTest, GradientOfATieGoesWhereCaffeSendsIt) {
  LayerRun run(Case("type: 'Eltwise' eltwise_param { operation: MAX }", {kThree, kThree, kThree}),
               Options());
  run.SetBottom(0, {1, 2, 0});
  run.SetBottom(1, {1, 0, 0});
  run.SetBottom(2, {1, 2, 1});
  run.SetTopDiff(0, {10, 20, 30});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{0, 20, 0}));
  EXPECT_EQ(run.BottomDiff(1), (Values{10, 0, 0}));
  EXPECT_EQ(run.BottomDiff(2), (Values{0, 0, 30}));
}

TEST_P(EltwiseTest, ProductWithZeroHasAFiniteGradient) {
  LayerRun run(Case("type: 'Eltwise' eltwise_param { operation: PROD stable_prod_grad: false }",
                    {kThree, kThree}),
               Options());
  run.SetBottom(0, {0, 2, 0});
  run.SetBottom(1, {3, 0, 0});
  run.SetTopDiff(0, {1, 1, 1});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{3, 0, 0}));
  EXPECT_EQ(run.BottomDiff(1), (Values{0, 2, 0}));
}

LayerCase Bad(std::string prototxt, std::vector<Shape> bottoms) {
  LayerCase test;
  test.prototxt = "type: 'Eltwise' " + prototxt;
  test.bottoms = std::move(bottoms);
  return test;
}

TEST(Eltwise, NamesTheBottomOfAnotherShape) {
  ExpectSetUpError(Bad("", {{2, 3}, {2, 3}, {3, 2}}), "bottom 2 is 3x2 and bottom 0 is 2x3");
}

TEST(Eltwise, RefusesCoefficientsThatDoNotFit) {
  ExpectSetUpError(Bad("eltwise_param { coeff: 1 }", {{2}, {2}}), "1 coeff for 2 bottoms");
  ExpectSetUpError(Bad("eltwise_param { operation: MAX coeff: [1, 1] }", {{2}, {2}}), "SUM only");
}

GF_FOR_EVERY_DEVICE(EltwiseTest);

}  // namespace
}  // namespace gf

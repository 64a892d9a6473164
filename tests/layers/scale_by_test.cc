#include "tests/layers/device_test.h"

namespace gf {
namespace {

using ScaleByTest = DeviceTest;

TEST_P(ScaleByTest, AxpyScalesPlanesAndAdds) {
  const std::vector<Values> bottoms = {{2, -1}, {1, 2, 3, 4}, {10, 20, 30, 40}};
  for (const Shape& factors : {Shape{1, 2}, Shape{1, 2, 1, 1}}) {
    EXPECT_EQ(Top(Case("type: 'Axpy'", {factors, {1, 2, 2, 1}, {1, 2, 2, 1}}), bottoms),
              (Values{12, 24, 27, 36}));
  }
}

TEST_P(ScaleByTest, FactorsHaveTheExtentsOfSomeAxes) {
  const Values x = {1, 2, 3, 4, 5, 6};
  const auto top = [&](const std::string& axis, const Shape& factors, const Values& values) {
    return Top(Case("type: 'ScaleBy' scale_param { " + axis + " }", {{1, 2, 3}, factors}),
               {x, values});
  };
  EXPECT_EQ(top("", {2}, {2, -1}), (Values{2, 4, 6, -4, -5, -6}));
  EXPECT_EQ(top("axis: 0", {1, 2}, {2, -1}), (Values{2, 4, 6, -4, -5, -6}));
  EXPECT_EQ(top("axis: -1", {3}, {1, 0, -1}), (Values{1, 0, -3, 4, 0, -6}));
  EXPECT_EQ(top("axis: 0", {1, 2, 3}, x), (Values{1, 4, 9, 16, 25, 36}));
}

TEST_P(ScaleByTest, TermsHaveTheExtentsOfSomeAxes) {
  const Values x = {1, 2, 3, 4, 5, 6};
  const auto top = [&](const std::string& axis, const Shape& terms, const Values& values) {
    return Top(Case("type: 'BiasBy' bias_param { " + axis + " }", {{1, 2, 3}, terms}), {x, values});
  };
  EXPECT_EQ(top("", {2}, {10, -1}), (Values{11, 12, 13, 3, 4, 5}));
  EXPECT_EQ(top("axis: 0", {1, 2}, {10, -1}), (Values{11, 12, 13, 3, 4, 5}));
  EXPECT_EQ(top("axis: -1", {3}, {1, 0, -1}), (Values{2, 2, 2, 5, 5, 5}));
  EXPECT_EQ(top("axis: 0", {1, 2, 3}, x), (Values{2, 4, 6, 8, 10, 12}));
}

TEST_P(ScaleByTest, TheGradientOfTermsIsASum) {
  LayerRun run(Case("type: 'BiasBy'", {{2, 2, 2}, {2}}), Options());
  run.SetTopDiff(0, {1, 2, 3, 4, 5, 6, 7, 8});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), run.top_diff_values(0));
  EXPECT_EQ(run.BottomDiff(1), (Values{14, 22}));
  EXPECT_TRUE(run.setup().in_place);
}

TEST_P(ScaleByTest, RefusesShapesThatDoNotFit) {
  ExpectSetUpError(Case("type: 'BiasBy'", {{1, 2, 3}, {3}}),
                   "the terms have the shape 3, which does not fit 1x2x3 from axis 1 on");
  ExpectSetUpError(Case("type: 'BiasBy' bias_param { axis: 3 }", {{1, 2, 3}, {3}}), "axis 3");
  ExpectSetUpError(Case("type: 'Axpy'", {{1, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}}),
                   "the factors have the shape 1x3, which does not fit 1x2x2x1 from axis 0 on");
  ExpectSetUpError(Case("type: 'Axpy'", {{1, 2, 2, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}}),
                   "bottom 0, the factors, must be N x C or N x C x 1 x 1, got 1x2x2x1");
  ExpectSetUpError(Case("type: 'Axpy'", {{1, 2}, {1, 2, 2, 1}, {1, 2, 1, 2}}),
                   "bottoms 1 and 2 must have one shape");
  ExpectSetUpError(Case("type: 'ScaleBy'", {{1, 2, 3}, {3}}), "does not fit 1x2x3 from axis 1");
  ExpectSetUpError(Case("type: 'ScaleBy' scale_param { axis: 2 }", {{1, 2, 3}, {3, 1}}),
                   "does not fit 1x2x3 from axis 2");
  ExpectSetUpError(Case("type: 'ScaleBy' scale_param { axis: 3 }", {{1, 2, 3}, {3}}), "axis 3");
}

GF_FOR_EVERY_DEVICE(ScaleByTest);

}  // namespace
}  // namespace gf

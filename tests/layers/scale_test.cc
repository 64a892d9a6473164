#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class ScaleTest : public DeviceTest {
 protected:
  void Compare(const std::string& fields, const Shape& shape, int begin, int end) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case("type: 'Scale' scale_param { bias_term: true " + fields + " }", {shape}),
                   options);
      run.Forward();
      const Values &x = run.bottom_values(0), &gamma = run.parameter_values(0),
                   &beta = run.parameter_values(1);
      const int64_t inner = shape.count(end, shape.rank()), channels = shape.count(begin, end);
      ASSERT_EQ(static_cast<int64_t>(gamma.size()), channels);
      Values expected(x.size());
      for (int64_t i = 0; i < shape.count(); ++i) {
        const int64_t c = i / inner % channels;
        expected[i] = gamma[c] * x[i] + beta[c];
      }
      ExpectNear(run.Top(0), expected, 1e-6, format);
    }
  }
};

TEST_P(ScaleTest, MultipliesAndAddsAlongItsAxes) {
  Compare("", {2, 19, 5, 3}, 1, 2);
  Compare("", {3, 40}, 1, 2);
  Compare("axis: 0 num_axes: 2", {3, 4, 5}, 0, 2);
  Compare("axis: -1", {2, 3, 4, 5}, 3, 4);
  Compare("axis: 1 num_axes: -1", {2, 3, 4, 5}, 1, 4);
}

TEST_P(ScaleTest, StartsAsTheIdentity) {
  const auto layer = MakeLayer(Case("type: 'Scale' scale_param { bias_term: true }", {{2, 3}}));
  EXPECT_EQ(layer->parameters()[0].filler->type(), "constant");
  EXPECT_EQ(layer->parameters()[0].filler->value(), 1);
  EXPECT_EQ(layer->parameters()[1].filler->value(), 0);
}

TEST_P(ScaleTest, ABiasAddsAlongItsAxes) {
  const auto compare = [&](const std::string& fields, const Shape& shape, int begin, int end) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case("type: 'Bias' bias_param { " + fields + " }", {shape}), options);
      run.Forward();
      const Values top = run.Top(0);
      run.Backward();
      const Values &x = run.bottom_values(0), &beta = run.parameter_values(0),
                   &dy = run.top_diff_values(0);
      const int64_t inner = shape.count(end, shape.rank()), channels = shape.count(begin, end);
      ASSERT_EQ(static_cast<int64_t>(beta.size()), channels);
      Values expected(x.size()), dbeta(channels);
      for (int64_t i = 0; i < shape.count(); ++i) {
        const int64_t c = i / inner % channels;
        expected[i] = x[i] + beta[c];
        dbeta[c] += dy[i];
      }
      EXPECT_EQ(top, expected) << format;
      EXPECT_EQ(run.BottomDiff(0), dy) << format;
      ExpectNear(run.ParameterDiff(0), dbeta, 1e-5, format);
    }
  };
  compare("", {2, 19, 5, 3}, 1, 2);
  compare("", {3, 40}, 1, 2);
  compare("axis: 0 num_axes: 2", {3, 4, 5}, 0, 2);
  compare("axis: -1", {2, 3, 4, 5}, 3, 4);
  compare("num_axes: 0", {2, 3}, 1, 1);
}

TEST_P(ScaleTest, ABiasHasOneParameter) {
  const LayerCase test =
      Case("type: 'Bias' param { lr_mult: 2 decay_mult: 0 } bias_param { filler { value: 3 } }",
           {{2, 3}});
  const auto layer = MakeLayer(test);
  ASSERT_EQ(layer->parameters().size(), 1u);
  EXPECT_EQ(layer->parameters()[0].name, "bias");
  EXPECT_EQ(layer->parameters()[0].filler->value(), 3);
  EXPECT_EQ(layer->parameters()[0].lr_mult, 2);
  EXPECT_EQ(layer->parameters()[0].decay_mult, 0);
  // Backward needs no bottom, so that the top may take its place.
  const LayerRun run(test, Options());
  EXPECT_FALSE(run.setup().needs_bottom[0]);
  EXPECT_TRUE(run.setup().in_place);
}

TEST_P(ScaleTest, MultipliersAreFiniteAndNotNegative) {
  const std::string layer = "type: 'Bias' param { ";
  ExpectSetUpError(Case(layer + "lr_mult: -1 }", {{2, 3}}),
                   "param[0].lr_mult is -1; it must be a finite number of at least 0");
  ExpectSetUpError(Case(layer + "decay_mult: inf }", {{2, 3}}), "param[0].decay_mult is inf;");
  ExpectSetUpError(Case(layer + "decay_mult: nan }", {{2, 3}}), "param[0].decay_mult is nan;");
}

TEST_P(ScaleTest, PreluScalesNegativeNumbersByTheirChannelsSlope) {
  LayerRun run(Case("type: 'PReLU'", {{2, 3}}), Options());
  EXPECT_EQ(run.layer().parameters()[0].shape, (Shape{3}));
  EXPECT_EQ(run.layer().parameters()[0].filler->value(), 0.25f);
  run.SetParameter(0, {0.5f, -1, 2});
  run.SetBottom(0, {-1, -2, -3, 4, 0, std::nanf("")});
  run.SetTopDiff(0, {1, 1, 1, 1, 1, 1});
  run.Forward();
  const Values top = run.Top(0);
  EXPECT_EQ(Values(top.begin(), top.begin() + 5), (Values{-0.5f, 2, -6, 4, 0}));
  EXPECT_TRUE(std::isnan(top[5]));
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{0.5f, -1, 2, 1, 1, 1}));
  EXPECT_EQ(run.ParameterDiff(0), (Values{-1, -2, -3}));
}

TEST_P(ScaleTest, ASharedSlopeIsOneNumber) {
  LayerRun run(
      Case("type: 'PReLU' prelu_param { channel_shared: true filler { value: 0.1 } }", {{2, 2}}),
      Options());
  EXPECT_EQ(run.layer().parameters()[0].shape, (Shape{1}));
  run.SetParameter(0, {0.5f});
  run.SetBottom(0, {-1, 2, -3, 4});
  run.Forward();
  EXPECT_EQ(run.Top(0), (Values{-0.5f, 2, -1.5f, 4}));
}

TEST_P(ScaleTest, RefusesAxesOutOfRange) {
  ExpectSetUpError(Case("type: 'Bias' bias_param { axis: 2 }", {{2, 3}}), "axis 2");
  ExpectSetUpError(Case("type: 'Bias' bias_param { num_axes: 2 }", {{2, 3}}),
                   "bias_param.num_axes 2 from axis 1 is out of range for bottom 2x3");
  ExpectSetUpError(Case("type: 'Scale' scale_param { axis: 2 }", {{2, 3}}), "axis 2");
  ExpectSetUpError(Case("type: 'Scale' scale_param { num_axes: 2 }", {{2, 3}}), "num_axes 2");
}

GF_FOR_EVERY_DEVICE(ScaleTest);

}  // namespace
}  // namespace gf

// Layer normalization and its gradients against the formulas in double.

#include <cmath>
#include <string>
#include <vector>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

std::string Norm(const std::string& param) {
  return "type: 'LayerNorm' layer_norm_param { " + param + " }";
}

class LayerNormTest : public DeviceTest {
 protected:
  // A row has the axes [begin, end) of the shape.
  void Compare(const std::string& fields, const Shape& shape, int begin, int end,
               double tolerance = 2e-5, float mean = 0) {
    const int64_t channels = shape.count(begin, end), inner = shape.count(end, shape.rank());
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      const std::string where = StrCat(shape.ToString(), ", ", fields, ", ", format);
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Case(Norm(fields), {shape}), options);
      run.SetBottom(0, RandomValues(shape.count(), 11, 4, mean));
      run.Forward();
      const Values top = run.Top(0);
      run.Backward();
      const bool affine = !run.layer().parameters().empty();
      const Values &x = run.bottom_values(0), &dy = run.top_diff_values(0);
      Values gamma(channels, 1), beta(channels, 0);
      if (affine) gamma = run.parameter_values(0), beta = run.parameter_values(1);
      ASSERT_EQ(static_cast<int64_t>(gamma.size()), channels);
      Values y(x.size()), dx(x.size());
      std::vector<double> dgamma(channels), dbeta(channels);
      for (int64_t row = 0; row < shape.count() / channels; ++row) {
        const auto at = [&](int64_t c) {
          return (row / inner * channels + c) * inner + row % inner;
        };
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < channels; ++c) sum += x[at(c)];
        const double m = sum / static_cast<double>(channels);
        for (int64_t c = 0; c < channels; ++c) squares += (x[at(c)] - m) * (x[at(c)] - m);
        const double deviation = std::sqrt(squares / static_cast<double>(channels) + kEps);
        // d xhat_k / d x_c = ((k == c) - 1 / channels - xhat_k * xhat_c / channels) / deviation
        double sum_g = 0, sum_product = 0;
        for (int64_t c = 0; c < channels; ++c) {
          const double xhat = (x[at(c)] - m) / deviation, g = double{dy[at(c)]} * gamma[c];
          y[at(c)] = static_cast<float>(gamma[c] * xhat + beta[c]);
          sum_g += g;
          sum_product += g * xhat;
          dgamma[c] += dy[at(c)] * xhat;
          dbeta[c] += dy[at(c)];
        }
        for (int64_t c = 0; c < channels; ++c) {
          const double xhat = (x[at(c)] - m) / deviation, g = double{dy[at(c)]} * gamma[c];
          dx[at(c)] = static_cast<float>(
              (g - (sum_g + xhat * sum_product) / static_cast<double>(channels)) / deviation);
        }
      }
      ExpectNear(top, y, tolerance, where);
      ExpectNear(run.BottomDiff(0), dx, tolerance, where + ", dx");
      if (!affine) continue;
      ExpectNear(run.ParameterDiff(0), Values(dgamma.begin(), dgamma.end()), tolerance,
                 where + ", dgamma");
      ExpectNear(run.ParameterDiff(1), Values(dbeta.begin(), dbeta.end()), tolerance,
                 where + ", dbeta");
    }
  }

  static constexpr double kEps = 1e-5;
};

TEST_P(LayerNormTest, NormalizesAllAxesFromOneOn) {
  Compare("", {3, 4, 5, 6}, 1, 4);
  Compare("axis: 2", {2, 3, 5, 6}, 2, 4);
  Compare("axis: -1", {2, 7, 40}, 2, 3);
  Compare("axis: 0", {3, 5}, 0, 2);
  Compare("axis: 2 elementwise_affine: false", {2, 3, 9}, 2, 3);
}

TEST_P(LayerNormTest, NormalizesAnAxisAlone) {
  Compare("channels_only: true", {2, 24, 5, 3}, 1, 2);
  Compare("channels_only: true", {2, 19, 9, 11}, 1, 2);
  Compare("channels_only: true", {3, 40}, 1, 2);
  Compare("channels_only: true", {2, 5, 70}, 1, 2);
  Compare("channels_only: true axis: 2", {2, 3, 150, 67}, 2, 3);
  Compare("channels_only: true elementwise_affine: false", {2, 16, 3, 3}, 1, 2);
}

// Rows that take a block of a GPU; more rows than a sum in FP32 should have.
TEST_P(LayerNormTest, LongAndManyRows) {
  Compare("", {3, 2052}, 1, 2);
  Compare("", {3, 301}, 1, 2);
  Compare("", {5003, 8}, 1, 2);
  Compare("", {600, 7}, 1, 2);
}

TEST_P(LayerNormTest, ALargeMeanDoesNotHideTheVariance) {
  Compare("", {5, 64}, 1, 2, 2e-4, 1000);
  Compare("channels_only: true", {2, 64, 3, 3}, 1, 2, 2e-4, 1000);
}

TEST_P(LayerNormTest, EpsIsAddedToTheVariance) {
  const Values y = Top(Case(Norm("eps: 3 elementwise_affine: false"), {{1, 2}}), {{-1, 1}});
  EXPECT_NEAR(y[0], -0.5, 1e-6);
  EXPECT_NEAR(y[1], 0.5, 1e-6);
  // A constant row has the variance 0.
  EXPECT_EQ(Top(Case(Norm("elementwise_affine: false"), {{2, 3}}), {{7, 7, 7, 0, 0, 0}}),
            Values(6, 0.f));
}

TEST_P(LayerNormTest, StartsWithGammaOneAndBetaZero) {
  const auto layer = MakeLayer(Case(Norm(""), {{2, 3, 4}}));
  ASSERT_EQ(layer->parameters().size(), 2u);
  EXPECT_EQ(layer->parameters()[0].name, "weight");
  EXPECT_EQ(layer->parameters()[1].name, "bias");
  for (const ParameterSpec& spec : layer->parameters()) {
    EXPECT_EQ(spec.shape, (Shape{3, 4}));
    EXPECT_EQ(spec.filler->type(), "constant");
    EXPECT_EQ(spec.filler->value(), spec.name == "weight" ? 1 : 0);
  }
  const auto filled = MakeLayer(
      Case(Norm("channels_only: true weight_filler { value: 2 } bias_filler { value: 3 }"),
           {{2, 3, 4}}));
  EXPECT_EQ(filled->parameters()[0].filler->value(), 2);
  EXPECT_EQ(filled->parameters()[1].filler->value(), 3);
  EXPECT_EQ(filled->parameters()[0].shape, (Shape{3}));
  EXPECT_TRUE(MakeLayer(Case(Norm("elementwise_affine: false"), {{2, 3}}))->parameters().empty());
}

TEST_P(LayerNormTest, RefusesSettingsWithoutAMeaning) {
  ExpectSetUpError(Case(Norm("axis: 2"), {{2, 3}}), "axis 2 is out of range");
  ExpectSetUpError(Case(Norm("eps: 0"), {{2, 3}}), "eps must be positive, got 0");
}

GF_FOR_EVERY_DEVICE(LayerNormTest);

}  // namespace
}  // namespace gf

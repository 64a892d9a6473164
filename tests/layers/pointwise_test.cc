// Functions of single elements against their formulas in double.

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using PointwiseTest = DeviceTest;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Formula {
  std::string prototxt;
  std::function<double(double)> f;
};

std::vector<Formula> Formulas() {
  const double pi = std::acos(-1.0);
  return {
      {"type: 'AbsVal'", [](double x) { return std::fabs(x); }},
      {"type: 'BNLL'", [](double x) { return std::log1p(std::exp(x)); }},
      {"type: 'Clip' clip_param { min: -1 max: 2.5 }",
       [](double x) { return std::fmin(2.5, std::fmax(-1, x)); }},
      {"type: 'ELU'", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"type: 'ELU' elu_param { alpha: 0.3 }",
       [](double x) { return x > 0 ? x : 0.3 * std::expm1(x); }},
      {"type: 'Exp'", [](double x) { return std::exp(x); }},
      {"type: 'Exp' exp_param { base: 3 scale: -0.5 shift: 0.7 }",
       [](double x) { return std::pow(3, 0.7 - 0.5 * x); }},
      {"type: 'GELU'", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
      {"type: 'GELU' gelu_param { tanh: true }",
       [pi](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
       }},
      {"type: 'HardSwish'", [](double x) { return x * std::fmin(6, std::fmax(0, x + 3)) / 6; }},
      {"type: 'Log' log_param { scale: 0.1 shift: 3 }",
       [](double x) { return std::log(3 + 0.1 * x); }},
      {"type: 'Log' log_param { base: 2 scale: 0.1 shift: 3 }",
       [](double x) { return std::log2(3 + 0.1 * x); }},
      {"type: 'Power' power_param { power: -0.5 scale: 0.1 shift: 3 }",
       [](double x) { return 1 / std::sqrt(3 + 0.1 * x); }},
      {"type: 'Power' power_param { power: 2 scale: 3 }", [](double x) { return 9 * x * x; }},
      {"type: 'Power' power_param { scale: 3 shift: -1 }", [](double x) { return 3 * x - 1; }},
      {"type: 'SiLU'", [](double x) { return x * Logistic(x); }},
      {"type: 'Swish' swish_param { beta: 0.5 }", [](double x) { return x * Logistic(x / 2); }},
  };
}

TEST_P(PointwiseTest, ResultsMatchTheFormula) {
  const Values x = RandomValues(1000, 5, 3);
  for (const Formula& formula : Formulas()) {
    Values expected;
    for (float v : x) expected.push_back(static_cast<float>(formula.f(v)));
    ExpectNear(Top(Case(formula.prototxt, {{1000}}), {x}), expected, 2e-6, formula.prototxt);
  }
}

// Near the ends of the range of its polynomials, too.
TEST_P(PointwiseTest, GeluAndItsSlopeAreCloseToTheFormula) {
  constexpr int kCount = 32001;
  Values x;
  for (int i = 0; i < kCount; ++i) x.push_back(static_cast<float>(i) / 2000 - 8);
  LayerRun run(Case("type: 'GELU'", {{kCount}}), Options());
  run.SetBottom(0, x);
  run.SetTopDiff(0, Values(kCount, 1));
  run.Forward();
  const Values top = run.Top(0);
  run.Backward();
  const Values slope = run.BottomDiff(0);
  for (int i = 0; i < kCount; ++i) {
    const double v = x[i], phi = std::exp(-v * v / 2) / std::sqrt(2 * std::acos(-1.0));
    const double distribution = std::erfc(-v / std::sqrt(2.0)) / 2;
    ASSERT_NEAR(top[i], v * distribution, 3e-7 * std::fmax(1, std::fabs(v))) << v;
    ASSERT_NEAR(slope[i], distribution + v * phi, 5e-7) << v;
  }
}

TEST_P(PointwiseTest, LargeNumbersGiveNeitherNanNorInfinity) {
  const Values x = {-1e30f, -200, -20, 20, 200, 1e30f};
  for (const char* type : {"BNLL", "ELU", "GELU", "HardSwish", "SiLU"}) {
    const LayerCase test = Case(StrCat("type: '", type, "'"), {{6}});
    LayerRun run(test, Options());
    run.SetBottom(0, x);
    run.SetTopDiff(0, Values(6, 1));
    run.Forward();
    const Values top = run.Top(0);
    run.Backward();
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(std::isfinite(top[i])) << type << " of " << x[i];
      EXPECT_NEAR(run.BottomDiff(0)[i], x[i] > 0, 1e-6) << type << " of " << x[i];
    }
  }
}

// The slope of a root is infinite at 0, where the padding of blocked layouts lies.
TEST_P(PointwiseTest, PaddingHasNoGradient) {
  RunOptions options = Options();
  options.format = "blocked";
  LayerRun run(Case("type: 'Power' power_param { power: 0.5 }", {{2, 19, 3, 3}}), options);
  run.SetBottom(0, Values(2 * 19 * 9, 4));
  run.Forward();
  EXPECT_EQ(run.TopPadding(), 0);
  run.Backward();
  EXPECT_EQ(run.GradientPadding(), 0);
}

// As in PyTorch: inside of the limits and on them the gradient passes.
TEST_P(PointwiseTest, ClipPassesGradientsWithinItsLimits) {
  LayerRun run(Case("type: 'Clip' clip_param { min: -1 max: 2 }", {{5}}), Options());
  run.SetBottom(0, {-1.5f, -1, 0, 2, 2.5f});
  run.SetTopDiff(0, {1, 2, 3, 4, 5});
  run.Forward();
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), (Values{0, 2, 3, 4, 0}));
}

TEST_P(PointwiseTest, NanStaysNan) {
  for (const Formula& formula : Formulas()) {
    const Values top = Top(Case(formula.prototxt, {{1}}), {{std::nanf("")}});
    EXPECT_TRUE(std::isnan(top[0])) << formula.prototxt << ": " << top[0];
  }
}

TEST(PointwiseLayerTest, RefusesSettingsWithoutAMeaning) {
  const auto test = [](const std::string& prototxt) {
    LayerCase test;
    test.prototxt = prototxt;
    test.bottoms = {{4}};
    return test;
  };
  ExpectSetUpError(test("type: 'Clip'"), "clip_param needs min and max with min <= max");
  ExpectSetUpError(test("type: 'Clip' clip_param { min: 2 max: 1 }"), "min <= max");
  ExpectSetUpError(test("type: 'Log' log_param { base: 1 }"),
                   "log_param.base is 1; it must be more than 0 and not 1, or -1 for e");
  ExpectSetUpError(test("type: 'Exp' exp_param { base: -2 }"), "exp_param.base is -2");
}

GF_FOR_EVERY_DEVICE(PointwiseTest);

}  // namespace
}  // namespace gf

// ReLU, Sigmoid, TanH.

#include <cmath>
#include <limits>

#include "core/error.h"
#include "tests/layers/device_test.h"

namespace gf {
namespace {

using ActivationTest = DeviceTest;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_P(ActivationTest, ReluClipsNegativeNumbers) {
  EXPECT_EQ(Top(Case("type: 'ReLU'", {{5}}), {{-2, -0.5f, 0, 0.5f, 2}}),
            (Values{0, 0, 0, 0.5f, 2}));
}

TEST_P(ActivationTest, ReluScalesNegativeNumbersByTheSlope) {
  EXPECT_EQ(Top(Case("type: 'ReLU' relu_param { negative_slope: 0.25 }", {{4}}), {{-2, -4, 0, 3}}),
            (Values{-0.5f, -1, 0, 3}));
}

TEST_P(ActivationTest, ReluKeepsInfinityAndNan) {
  const Values top = Top(Case("type: 'ReLU'", {{3}}), {{-kInf, kInf, std::nanf("")}});
  EXPECT_EQ(top[0], 0);
  EXPECT_EQ(top[1], kInf);
  EXPECT_TRUE(std::isnan(top[2]));
}

// Inside of other layers, too: a net whose weights are NaN must not look as if it had a loss.
TEST_P(ActivationTest, FusedReluKeepsNan) {
  const struct {
    const char* prototxt;
    std::vector<Shape> bottoms;
  } cases[] = {
      {"type: 'Convolution' convolution_param { num_output: 8 kernel_size: 1 }", {{2, 8, 4, 4}}},
      {"type: 'Convolution' convolution_param { num_output: 8 kernel_size: 1 bias_term: false }",
       {{2, 8, 4, 4}}},
      {"type: 'InnerProduct' inner_product_param { num_output: 8 }", {{4, 16}}},
      {"type: 'InnerProduct' inner_product_param { num_output: 8 bias_term: false }", {{4, 16}}},
      {"type: 'BatchNorm'", {{2, 8, 4, 4}}},
      {"type: 'Eltwise' eltwise_param { operation: SUM }", {{2, 8, 4, 4}, {2, 8, 4, 4}}},
  };
  for (const auto& c : cases) {
    // oneDNN's fused ReLU makes 0 of NaN, and it has no other.
    if (GetParam() == "cpu" && std::string(c.prototxt).find("num_output") != std::string::npos) {
      continue;
    }
    for (DType compute : {DType::kFP32, DType::kBF16}) {
      RunOptions options = Options();
      options.compute = compute;
      LayerRun run(Case(StrCat(c.prototxt, " fusion { relu: true }"), c.bottoms), options);
      run.SetBottom(0, Values(c.bottoms[0].count(), std::nanf("")));
      run.Forward();
      for (float value : run.Top(0)) {
        ASSERT_TRUE(std::isnan(value)) << c.prototxt << " " << Name(compute) << ": " << value;
      }
    }
  }
}

TEST_P(ActivationTest, SigmoidMatchesItsFormula) {
  const Values x = RandomValues(1000, 5, 4);
  Values expected;
  for (float v : x) expected.push_back(static_cast<float>(1 / (1 + std::exp(-double{v}))));
  ExpectNear(Top(Case("type: 'Sigmoid'", {{1000}}), {x}), expected, 1e-6, "sigmoid");
}

TEST_P(ActivationTest, TanhMatchesItsFormula) {
  const Values x = RandomValues(1000, 6, 2);
  Values expected;
  for (float v : x) expected.push_back(static_cast<float>(std::tanh(double{v})));
  ExpectNear(Top(Case("type: 'TanH'", {{1000}}), {x}), expected, 2e-6, "tanh");
}

GF_FOR_EVERY_DEVICE(ActivationTest);

}  // namespace
}  // namespace gf

// ReLU, Sigmoid, TanH.

#include <cmath>
#include <limits>

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

TEST_P(ActivationTest, SigmoidIsItsFormula) {
  const Values x = RandomValues(1000, 5, 4);
  Values expected;
  for (float v : x) expected.push_back(static_cast<float>(1 / (1 + std::exp(-double{v}))));
  ExpectNear(Top(Case("type: 'Sigmoid'", {{1000}}), {x}), expected, 1e-6, "sigmoid");
}

TEST_P(ActivationTest, TanhIsItsFormula) {
  const Values x = RandomValues(1000, 6, 2);
  Values expected;
  for (float v : x) expected.push_back(static_cast<float>(std::tanh(double{v})));
  ExpectNear(Top(Case("type: 'TanH'", {{1000}}), {x}), expected, 2e-6, "tanh");
}

GF_FOR_EVERY_DEVICE(ActivationTest);

}  // namespace
}  // namespace gf

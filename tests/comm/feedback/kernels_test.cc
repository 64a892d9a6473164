#include "comm/feedback/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

class FeedbackKernelsTest : public IsaTest {
 protected:
  // Rounds these gradients and residuals and compares both with the definition.
  void Check(DType wire, const Numbers& gradients, const Numbers& residuals) {
    const FeedbackKernels& kernels = Choose(Feedback_baseline, Feedback_avx2, Feedback_avx512);
    Numbers g = gradients, h = residuals;
    const auto round = wire == DType::kBF16 ? kernels.bf16 : kernels.fp16;
    round(static_cast<float*>(g.data()), static_cast<float*>(h.data()), g.count());
    for (int64_t i = 0; i < g.count(); ++i) {
      const float sum = gradients.Get(i) + residuals.Get(i);
      const float rounded = Rounded(wire, sum);
      ASSERT_TRUE(SameNumber(g.Get(i), rounded)) << Name(wire) << " " << sum;
      ASSERT_EQ(h.Get(i), std::isfinite(rounded) ? sum - rounded : 0) << Name(wire) << " " << sum;
      // Sent and kept together are the gradient, to the last bit.
      if (!std::isfinite(rounded)) continue;
      ASSERT_EQ(double{g.Get(i)} + double{h.Get(i)}, double{sum});
    }
    EXPECT_TRUE(g.GuardIntact() && h.GuardIntact());
  }
};

TEST_P(FeedbackKernelsTest, SentAndKeptAreTheGradient) {
  Random random(3, 1);
  for (const DType wire : {DType::kBF16, DType::kFP16}) {
    for (const int64_t count : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 1000, 4099}) {
      Numbers g(DType::kFP32, count, 4 * (count % 3)), h(DType::kFP32, count, 4 * (count % 5));
      g.FillGaussian(&random);
      h.FillGaussian(&random, 0.01f);
      Check(wire, g, h);
    }
  }
}

TEST_P(FeedbackKernelsTest, WhatIsNotFiniteIsSentAndForgotten) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {kInfinity, -kInfinity, std::nanf(""), 1e30f,  65504, 65519, 65520,
                          -3e38f,    0,          -0.f,          1e-45f, -1e-8f};
  Numbers g(DType::kFP32, 12), h(DType::kFP32, 12);
  for (int i = 0; i < 12; ++i) {
    g.Set(i, values[i]);
    h.Set(i, i % 2 == 0 ? 0 : 1e-3f);
  }
  for (const DType wire : {DType::kBF16, DType::kFP16}) Check(wire, g, h);
}

GF_ON_EVERY_ISA(FeedbackKernelsTest);

}  // namespace
}  // namespace gf

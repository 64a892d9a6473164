#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class ReductionTest : public DeviceTest {
 protected:
  static LayerCase Reduction(const std::string& fields, const Shape& bottom,
                             const std::string& more = "") {
    return Case("type: 'Reduction' reduction_param { " + fields + " } " + more, {bottom});
  }
};

const Values kBottom = {1, -2, 3, -4, 5, 6};

TEST_P(ReductionTest, ReducesTheLastAxes) {
  const auto top = [&](const std::string& fields) {
    return Top(Reduction(fields, {2, 3}), {kBottom});
  };
  EXPECT_EQ(top(""), (Values{9}));
  EXPECT_EQ(top("axis: 1"), (Values{2, 7}));
  EXPECT_EQ(top("axis: -1 operation: SUM coeff: 3"), (Values{6, 21}));
  EXPECT_EQ(top("operation: ASUM"), (Values{21}));
  EXPECT_EQ(top("axis: 1 operation: ASUM coeff: -2"), (Values{-12, -30}));
  EXPECT_EQ(top("axis: 1 operation: SUMSQ coeff: 0.5"), (Values{7, 38.5f}));
  EXPECT_EQ(top("operation: MEAN"), (Values{1.5f}));
  EXPECT_EQ(top("axis: 1 operation: MEAN coeff: 3"), (Values{2, 7}));
}

TEST_P(ReductionTest, HasTheShapeOfTheAxesBefore) {
  const auto shape = [](const std::string& fields) {
    return MakeLayer(Reduction(fields, {2, 3, 4}))->tops()[0];
  };
  EXPECT_EQ(shape(""), (Shape{1}));
  EXPECT_EQ(shape("axis: 1"), (Shape{2}));
  EXPECT_EQ(shape("axis: -1"), (Shape{2, 3}));
}

TEST_P(ReductionTest, GradientsFollowTheOperation) {
  const auto gradient = [&](const std::string& fields) {
    LayerRun run(Reduction("axis: 1 coeff: 3 " + fields, {2, 3}), Options());
    run.SetBottom(0, {1, -2, 0, -4, 5, 6});
    run.SetTopDiff(0, {1, 10});
    run.Forward();
    run.Backward();
    return run.BottomDiff(0);
  };
  EXPECT_EQ(gradient(""), (Values{3, 3, 3, 30, 30, 30}));
  EXPECT_EQ(gradient("operation: ASUM"), (Values{3, -3, 0, -30, 30, 30}));
  EXPECT_EQ(gradient("operation: SUMSQ"), (Values{6, -12, 0, -240, 300, 360}));
  EXPECT_EQ(gradient("operation: MEAN"), (Values{1, 1, 1, 10, 10, 10}));
}

// Rows of several parts, the last of them not full.
TEST_P(ReductionTest, AddsUpLongRowsExactly) {
  const Shape shape = {2, 3, 125, 131};
  Values x(shape.count());
  double sums[2] = {0, 0};
  for (int64_t i = 0; i < shape.count(); ++i) {
    x[i] = static_cast<float>(i * 7 % 11 - 4);
    sums[i / shape.count(1, 4)] += std::fabs(x[i]);
  }
  for (const char* format : {"plain", "blocked"}) {
    for (const char* axis : {"axis: 0", "axis: 1"}) {
      RunOptions options = Options();
      options.format = format;
      LayerRun run(Reduction(StrCat("operation: ASUM ", axis), shape), options);
      run.SetBottom(0, x);
      run.Forward();
      const Values expected =
          run.Top(0).size() == 1 ? Values{static_cast<float>(sums[0] + sums[1])}
                                 : Values{static_cast<float>(sums[0]), static_cast<float>(sums[1])};
      EXPECT_EQ(run.Top(0), expected) << format << ", " << axis;
    }
  }
}

TEST_P(ReductionTest, ALossWeightMakesItALoss) {
  const LayerCase loss = Reduction("axis: 1 operation: SUMSQ", {2, 3}, "loss_weight: 0.25");
  RunOptions options = Options();
  options.loss_scale = 2;
  LayerRun run(loss, options);
  EXPECT_EQ(run.layer().LossWeight(0), 0.25f);
  EXPECT_EQ(run.layer().TopType(0, DType::kBF16), DType::kFP32);
  run.SetBottom(0, kBottom);
  run.Forward();
  EXPECT_EQ(run.Top(0), (Values{14, 77}));
  run.Backward();
  EXPECT_EQ(run.BottomDiff(0), kBottom);  // 0.25 * 2 * 2 x
  const auto plain = MakeLayer(Reduction("", {2, 3}));
  EXPECT_EQ(plain->LossWeight(0), 0);
  EXPECT_EQ(plain->TopType(0, DType::kBF16), DType::kBF16);
}

TEST_P(ReductionTest, OnlyOperationsWithASlopeNeedTheBottom) {
  const auto needs = [&](const std::string& operation) {
    return LayerRun(Reduction("operation: " + operation, {2, 3}), Options())
        .setup()
        .needs_bottom[0];
  };
  EXPECT_FALSE(needs("SUM"));
  EXPECT_FALSE(needs("MEAN"));
  EXPECT_TRUE(needs("ASUM"));
  EXPECT_TRUE(needs("SUMSQ"));
}

TEST_P(ReductionTest, RefusesAnAxisOutOfRange) {
  ExpectSetUpError(Reduction("axis: 2", {2, 3}), "axis 2 is out of range");
  ExpectSetUpError(Reduction("axis: -3", {2, 3}), "axis -3 is out of range");
}

GF_FOR_EVERY_DEVICE(ReductionTest);

}  // namespace
}  // namespace gf

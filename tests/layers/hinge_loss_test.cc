#include <algorithm>
#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class HingeLossTest : public DeviceTest {
 protected:
  static LayerCase Hinge(const std::string& param, const Shape& scores,
                         const std::vector<int64_t>& labels) {
    LayerCase test =
        Case("type: 'HingeLoss' " + param, {scores, {static_cast<int64_t>(labels.size())}});
    test.labels = labels;
    return test;
  }

  // Also sets the gradient.
  float Loss(const LayerCase& test, const Values& scores, int64_t padding = 0,
             float loss_scale = 1) {
    Batch batch;
    batch.padding = padding;
    batch.images.desc.shape = {test.bottoms[0][0], 1, 1, 1};
    RunOptions options = Options();
    options.batch = &batch;
    options.loss_scale = loss_scale;
    LayerRun run(test, options);
    run.SetBottom(0, scores);
    run.Forward();
    const float loss = run.Top(0)[0];
    run.Backward();
    gradient_ = run.BottomDiff(0);
    return loss;
  }

  Values gradient_;
};

constexpr char kSquared[] = "hinge_loss_param { norm: L2 }";

TEST_P(HingeLossTest, AddsUpHowFarScoresAreBelowTheMargin) {
  const Values scores = {0.5f, -0.25f, -3, -2, 4, 0};
  const std::vector<int64_t> labels = {0, 1};
  // The label's class 1 - x, others 1 + x: 0.5, 0.75, 0; 0, 0, 1.
  EXPECT_FLOAT_EQ(Loss(Hinge("", {2, 3}, labels), scores), 2.25f / 2);
  EXPECT_EQ(gradient_, (Values{-0.5f, 0.5f, 0, 0, 0, 0.5f}));
  EXPECT_FLOAT_EQ(Loss(Hinge("hinge_loss_param { norm: L1 }", {2, 3}, labels), scores), 2.25f / 2);
  EXPECT_FLOAT_EQ(Loss(Hinge(kSquared, {2, 3}, labels), scores), (0.25f + 0.5625f + 1) / 2);
  EXPECT_EQ(gradient_, (Values{-0.5f, 0.75f, 0, 0, 0, 1}));
}

TEST_P(HingeLossTest, IsItsFormulaForManyClasses) {
  constexpr int64_t kSamples = 5, kClasses = 1000;
  const Values x = RandomValues(kSamples * kClasses, 8, 2);
  const std::vector<int64_t> labels = {0, 999, 500, 500, 7};
  for (const int norm : {1, 2}) {
    double expected = 0;
    for (int64_t n = 0; n < kSamples; ++n) {
      for (int64_t k = 0; k < kClasses; ++k) {
        const double delta = k == labels[n] ? 1 : -1;
        expected += std::pow(std::max(0.0, 1 - delta * x[n * kClasses + k]), norm) / kSamples;
      }
    }
    const std::string param = norm == 1 ? "" : kSquared;
    EXPECT_NEAR(Loss(Hinge(param, {kSamples, kClasses}, labels), x), expected, 1e-5 * expected);
  }
}

TEST_P(HingeLossTest, ImagesAreFlattened) {
  const Values x = RandomValues(24, 9);
  EXPECT_EQ(Loss(Hinge("", {2, 3, 2, 2}, {11, 4}), x), Loss(Hinge("", {2, 12}, {11, 4}), x));
  const Values flat = gradient_;
  Loss(Hinge("", {2, 3, 2, 2}, {11, 4}), x);
  EXPECT_EQ(gradient_, flat);
}

TEST_P(HingeLossTest, ScoresAtTheMarginHaveNoGradient) {
  for (const std::string param : {"", kSquared}) {
    EXPECT_EQ(Loss(Hinge(param, {1, 2}, {0}), {1, -1}), 0);
    EXPECT_EQ(gradient_, (Values{0, 0}));
  }
}

TEST_P(HingeLossTest, SamplesThatFillUpTheBatchDoNotCount) {
  // Their labels may be anything.
  EXPECT_FLOAT_EQ(Loss(Hinge("", {3, 2}, {0, 1, 9}), {0, 0, 0, 0.5f, 7, 7}, /*padding=*/1),
                  (2 + 1.5f) / 2);
  EXPECT_EQ(gradient_, (Values{-0.5f, 0.5f, 0.5f, -0.5f, 0, 0}));
}

TEST_P(HingeLossTest, WeightAndScaleMultiplyTheGradient) {
  EXPECT_FLOAT_EQ(Loss(Hinge("loss_weight: 0.5", {1, 2}, {0}), {0, 0}, 0, 64), 2);
  EXPECT_EQ(gradient_, (Values{-32, 32}));
}

TEST_P(HingeLossTest, ShowsNan) {
  for (const std::string param : {"", kSquared}) {
    EXPECT_TRUE(std::isnan(Loss(Hinge(param, {1, 2}, {0}), {5, std::nanf("")}))) << param;
  }
}

TEST_P(HingeLossTest, NamesTheSampleWhoseLabelIsOutOfRange) {
  for (const int64_t label : {int64_t{3}, int64_t{-1}}) {
    LayerRun run(Hinge("", {2, 3}, {1, label}), Options());
    try {
      run.Forward();
      FAIL() << "label " << label << " was taken";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(
                    StrCat("label ", label, " of sample 1 in the batch is outside 0..2")),
                std::string::npos)
          << e.what();
    }
  }
}

TEST_P(HingeLossTest, RefusesWhatDoesNotFit) {
  ExpectSetUpError(Hinge("", {5, 10}, {1, 2}), "5 predictions, labels 2 are 2");
  ExpectSetUpError(Hinge("loss_param { ignore_label: 1 }", {1, 2}, {0}),
                   "normalization and normalize do not go with this type");
  ExpectSetUpError(Hinge("loss_param { label_smoothing: 0.1 }", {1, 2}, {0}),
                   "label_smoothing does not go with this type");
  ExpectSetUpError(Hinge("loss_param { class_weight: [1, 2] }", {1, 2}, {0}),
                   "class_weight does not go with this type");
}

GF_FOR_EVERY_DEVICE(HingeLossTest);

}  // namespace
}  // namespace gf

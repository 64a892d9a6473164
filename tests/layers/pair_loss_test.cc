#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class PairLossTest : public DeviceTest {
 protected:
  // Also sets gradient_, the gradient of the first bottom.
  float Loss(const std::string& prototxt, const Shape& shape, const std::vector<Values>& bottoms,
             int64_t padding = 0) {
    Batch batch;
    batch.padding = padding;
    batch.images.desc.shape = {shape[0], 1, 1, 1};
    RunOptions options = Options();
    options.batch = &batch;
    LayerRun run(Case(prototxt, {shape, shape}), options);
    for (int i = 0; i < 2; ++i) run.SetBottom(i, bottoms[i]);
    run.Forward();
    const float loss = run.Top(0)[0];
    run.Backward();
    gradient_ = run.BottomDiff(0);
    return loss;
  }

  Values gradient_;
};

TEST_P(PairLossTest, EuclideanLossIsHalfTheSquaredDistanceOfASample) {
  const std::string loss = "type: 'EuclideanLoss'";
  const std::vector<Values> bottoms = {{1, 2, 3, 4}, {1, 4, 0, 5}};
  EXPECT_FLOAT_EQ(Loss(loss, {2, 2}, bottoms), (4 + 9 + 1) / 2.f / 2);
  EXPECT_EQ(gradient_, (Values{0, -2 / 2.f, 3 / 2.f, -1 / 2.f}));
  EXPECT_FLOAT_EQ(Loss(loss, {4, 1}, bottoms), (4 + 9 + 1) / 2.f / 4);
  EXPECT_FLOAT_EQ(Loss(loss, {2, 2}, bottoms, /*padding=*/1), 4 / 2.f);
  EXPECT_EQ(gradient_, (Values{0, -2, 0, 0}));
}

TEST_P(PairLossTest, CrossEntropyOfSigmoids) {
  const std::string type = "type: 'SigmoidCrossEntropyLoss' ";
  const std::vector<Values> bottoms = {{0, 2, -30, 90}, {1, 0.25f, 0, 2}};
  const auto entropy = [](double x, double t) {
    const double p = 1 / (1 + std::exp(-x));
    return -t * std::log(p) - (1 - t) * std::log(1 - p);
  };
  // Of the first `counted` pairs.
  const auto expect_gradient = [&](int counted, double divisor, const std::string& where) {
    for (int i = 0; i < 4; ++i) {
      const double p = 1 / (1 + std::exp(-bottoms[0][i]));
      EXPECT_NEAR(gradient_[i], i < counted ? (p - bottoms[1][i]) / divisor : 0, 1e-6) << where;
    }
  };
  const double two = entropy(0, 1) + entropy(2, 0.25), three = two + entropy(-30, 0);
  const double all = three + 90 - 180;  // the target 2 is no probability
  const auto expect = [&](const std::string& param, double loss, double divisor) {
    EXPECT_NEAR(Loss(type + "loss_param { " + param + " }", {2, 2}, bottoms), loss / divisor, 1e-5)
        << param;
    expect_gradient(loss == three ? 3 : 4, divisor, param);
  };
  expect("", all, 2);
  expect("normalize: true", all, 4);
  expect("normalization: FULL", all, 4);
  expect("normalization: NONE", all, 1);
  expect("normalization: BATCH_SIZE ignore_label: 2", three, 2);
  expect("normalization: VALID ignore_label: 2", three, 3);
  expect("normalization: FULL ignore_label: 2", three, 4);
  EXPECT_NEAR(Loss(type, {2, 2}, bottoms, /*padding=*/1), two, 1e-5);
  expect_gradient(2, 1, "padding");
}

TEST_P(PairLossTest, RefusesWhatDoesNotFit) {
  ExpectSetUpError(Case("type: 'EuclideanLoss'", {{2, 3}, {3, 2}}),
                   "the same number of samples, and of numbers per sample, got 2x3 and 3x2");
  ExpectSetUpError(Case("type: 'SigmoidCrossEntropyLoss'", {{2, 3}, {2, 4}}), "got 2x3 and 2x4");
  for (const char* field : {"ignore_label: 1", "normalization: FULL", "normalize: true"}) {
    ExpectSetUpError(
        Case(StrCat("type: 'EuclideanLoss' loss_param { ", field, " }"), {{2, 3}, {2, 3}}),
        "ignore_label, normalization and normalize do not go with this type");
  }
  ExpectSetUpError(
      Case("type: 'EuclideanLoss' loss_param { label_smoothing: 0.1 }", {{2, 3}, {2, 3}}),
      "label_smoothing does not go with this type");
  ExpectSetUpError(Case("type: 'SigmoidCrossEntropyLoss' loss_param { class_weight: [1, 2, 1] }",
                        {{2, 3}, {2, 3}}),
                   "class_weight does not go with this type");
}

GF_FOR_EVERY_DEVICE(PairLossTest);

}  // namespace
}  // namespace gf

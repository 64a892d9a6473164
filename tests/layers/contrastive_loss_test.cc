#include <algorithm>
#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class ContrastiveLossTest : public DeviceTest {
 protected:
  static LayerCase Pairs(const std::string& param, const Shape& shape,
                         const std::vector<int64_t>& labels) {
    LayerCase test = Case("type: 'ContrastiveLoss' " + param,
                          {shape, shape, {static_cast<int64_t>(labels.size())}});
    test.labels = labels;
    return test;
  }

  // Also sets the gradients of the first two bottoms.
  float Loss(const LayerCase& test, const Values& a, const Values& b, int64_t padding = 0,
             float loss_scale = 1) {
    Batch batch;
    batch.padding = padding;
    batch.images.desc.shape = {test.bottoms[0][0], 1, 1, 1};
    RunOptions options = Options();
    options.batch = &batch;
    options.loss_scale = loss_scale;
    LayerRun run(test, options);
    run.SetBottom(0, a);
    run.SetBottom(1, b);
    run.Forward();
    const float loss = run.Top(0)[0];
    run.Backward();
    da_ = run.BottomDiff(0);
    db_ = run.BottomDiff(1);
    return loss;
  }

  Values da_, db_;
};

// Distances: 5, 5, 13, 1.
const Values kA = {3, 4, 3, 4, 5, 12, 1, 1}, kB = {0, 0, 0, 0, 0, 0, 1, 2};

TEST_P(ContrastiveLossTest, SimilarPairsPayForTheirDistanceOthersForBeingNear) {
  const std::string margin = "contrastive_loss_param { margin: 6 }";
  EXPECT_FLOAT_EQ(Loss(Pairs(margin, {4, 2}, {1, 0, 0, 0}), kA, kB), (25 + 1 + 0 + 25) / 8.f);
  // (margin - d) / (d + 1e-4), of the differences (3, 4) and (0, -1).
  const float near = 1 / 5.0001f / 4, nearer = 5 / 1.0001f / 4;
  const Values expected = {3 / 4.f, 4 / 4.f, -3 * near, -4 * near, 0, 0, 0, nearer};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(da_[i], expected[i], 1e-6) << i;
    EXPECT_EQ(db_[i], -da_[i]) << i;
  }
}

TEST_P(ContrastiveLossTest, TheMarginIsOneUnlessSaid) {
  const Values a = {0.5f, 3}, b = {0, 0};
  EXPECT_FLOAT_EQ(Loss(Pairs("", {2, 1}, {0, 0}), a, b), 0.25f / 4);
}

TEST_P(ContrastiveLossTest, TheLegacyVersionComparesTheSquareWithTheMargin) {
  const std::string legacy = "contrastive_loss_param { margin: 30 legacy_version: true }";
  EXPECT_FLOAT_EQ(Loss(Pairs(legacy, {4, 2}, {1, 0, 0, 0}), kA, kB), (25 + 5 + 0 + 29) / 8.f);
  EXPECT_EQ(da_, (Values{3 / 4.f, 4 / 4.f, -3 / 4.f, -4 / 4.f, 0, 0, 0, 1 / 4.f}));
}

TEST_P(ContrastiveLossTest, TheGradientOfEqualSamplesIsFinite) {
  for (const bool legacy : {false, true}) {
    const std::string param =
        StrCat("contrastive_loss_param { legacy_version: ", legacy ? "true" : "false", " }");
    EXPECT_FLOAT_EQ(Loss(Pairs(param, {2, 2}, {0, 1}), {1, 2, 3, 4}, {1, 2, 3, 4}), 0.25f);
    EXPECT_EQ(da_, Values(4, 0));
    EXPECT_EQ(db_, Values(4, 0));
  }
  // The distance 1e-4 is doubled, as in Caffe.
  Loss(Pairs("", {1, 1}, {0}), {1e-4f}, {0});
  EXPECT_NEAR(da_[0], -(1 - 1e-4) / 2, 1e-4);
}

TEST_P(ContrastiveLossTest, AnyLabelButZeroMeansSimilar) {
  for (const int64_t label : {int64_t{1}, int64_t{-1}, int64_t{1} << 32}) {
    EXPECT_FLOAT_EQ(Loss(Pairs("", {1, 2}, {label}), {3, 4}, {0, 0}), 12.5f) << label;
  }
}

TEST_P(ContrastiveLossTest, PairsThatFillUpTheBatchDoNotCount) {
  const LayerCase test = Pairs("", {4, 2}, {1, 1, 1, 1});
  EXPECT_FLOAT_EQ(Loss(test, kA, kB, /*padding=*/2), (25 + 25) / 4.f);
  EXPECT_EQ(da_, (Values{1.5f, 2, 1.5f, 2, 0, 0, 0, 0}));
}

TEST_P(ContrastiveLossTest, WeightAndScaleMultiplyTheGradient) {
  EXPECT_FLOAT_EQ(Loss(Pairs("loss_weight: 0.5", {1, 2}, {1}), {3, 4}, {0, 0}, 0, 64), 12.5f);
  EXPECT_EQ(da_, (Values{96, 128}));
}

TEST_P(ContrastiveLossTest, ShowsNan) {
  for (const int64_t label : {0, 1}) {
    EXPECT_TRUE(std::isnan(Loss(Pairs("", {1, 2}, {label}), {std::nanf(""), 1}, {0, 0})));
  }
}

TEST_P(ContrastiveLossTest, RefusesWhatDoesNotFit) {
  LayerCase pairs = Pairs("", {2, 3}, {0, 1});
  pairs.bottoms[1] = {3, 2};
  ExpectSetUpError(pairs, "the same number of samples, and of numbers per sample, got 2x3 and 3x2");
  ExpectSetUpError(Pairs("", {2, 3}, {0, 1, 1}),
                   "needs one label per pair: 2x3 are 2 pairs, labels 3 are 3");
  ExpectSetUpError(Pairs("loss_param { normalization: FULL }", {1, 2}, {0}),
                   "normalization and normalize do not go with this type");
  ExpectSetUpError(Pairs("loss_param { label_smoothing: 0.1 }", {1, 2}, {0}),
                   "label_smoothing does not go with this type");
  ExpectSetUpError(Pairs("loss_param { class_weight: [1, 2] }", {1, 2}, {0}),
                   "class_weight does not go with this type");
}

GF_FOR_EVERY_DEVICE(ContrastiveLossTest);

}  // namespace
}  // namespace gf

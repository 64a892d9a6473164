// Softmax and SoftmaxWithLoss.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/batch.h"
#include "tests/layers/device_test.h"

namespace gf {
namespace {

// Probabilities of scores [outer][classes][inner].
std::vector<double> Probabilities(const Values& x, int64_t outer, int64_t classes, int64_t inner) {
  std::vector<double> p(x.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t c) { return (o * classes + c) * inner + i; };
      double largest = x[at(0)], sum = 0;
      for (int64_t c = 0; c < classes; ++c) largest = std::max<double>(largest, x[at(c)]);
      for (int64_t c = 0; c < classes; ++c) sum += p[at(c)] = std::exp(x[at(c)] - largest);
      for (int64_t c = 0; c < classes; ++c) p[at(c)] /= sum;
    }
  }
  return p;
}

class SoftmaxTest : public DeviceTest {
 protected:
  static LayerCase Loss(const std::string& fields, Shape scores, std::vector<int64_t> labels) {
    LayerCase test = Case("type: 'SoftmaxWithLoss' " + fields,
                          {std::move(scores), Shape{static_cast<int64_t>(labels.size())}});
    test.labels = std::move(labels);
    return test;
  }

  // The loss of uniform scores is log(classes) per counted prediction.
  double UniformLoss(const std::string& fields, const Batch* batch = nullptr) {
    RunOptions options = Options();
    options.batch = batch;
    LayerCase test = Loss(fields, {3, 4, 2}, {0, 1, 2, 3, 9, 9});
    LayerRun run(test, options);
    run.SetBottom(0, Values(24, 0.5f));
    run.Forward();
    return run.Top(0)[0] / std::log(4.0);
  }
};

TEST_P(SoftmaxTest, IsItsFormula) {
  for (const Shape& shape : {Shape{3, 1000}, Shape{2, 7, 11, 13}, Shape{5, 1}}) {
    const Values x = RandomValues(shape.count(), 8, 5);
    const auto p = Probabilities(x, shape[0], shape[1], shape.count(2, shape.rank()));
    ExpectNear(Top(Case("type: 'Softmax'", {shape}), {x}), Values(p.begin(), p.end()), 1e-5,
               shape.ToString());
  }
}

TEST_P(SoftmaxTest, SurvivesLargeScores) {
  EXPECT_EQ(Top(Case("type: 'Softmax'", {{1, 3}}), {{1e30f, 1e30f, -1e30f}}),
            (Values{0.5f, 0.5f, 0}));
}

TEST_P(SoftmaxTest, ShowsNan) {
  for (float value : Top(Case("type: 'Softmax'", {{1, 20}}), {Values(20, std::nanf(""))})) {
    EXPECT_TRUE(std::isnan(value));
  }
  Values x(20, 1);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  LayerRun run(Loss("", {1, 20}, {2}), Options());
  run.SetBottom(0, x);
  run.Forward();
  EXPECT_TRUE(std::isnan(run.Top(0)[0]));
}

TEST_P(SoftmaxTest, LossIsTheMeanCrossEntropy) {
  const Shape shape = {4, 1000};
  const std::vector<int64_t> labels = {0, 999, 500, 500};
  const Values x = RandomValues(shape.count(), 12, 3);
  const auto p = Probabilities(x, 4, 1000, 1);
  for (double smoothing : {0.0, 0.1}) {
    double expected = 0;
    for (int64_t n = 0; n < 4; ++n) {
      for (int64_t c = 0; c < 1000; ++c) {
        const double target = (c == labels[n] ? 1 - smoothing : 0) + smoothing / 1000;
        if (target > 0) expected -= target * std::log(p[n * 1000 + c]) / 4;
      }
    }
    LayerRun run(Loss(StrCat("loss_param { label_smoothing: ", smoothing, " }"), shape, labels),
                 Options());
    run.SetBottom(0, x);
    run.Forward();
    EXPECT_NEAR(run.Top(0)[0], expected, 1e-6 * expected);
  }
}

TEST_P(SoftmaxTest, LossOfHopelessScoresIsNotClamped) {
  LayerRun run(Loss("", {1, 2}, {1}), Options());
  run.SetBottom(0, {1000, 0});
  run.Forward();
  EXPECT_FLOAT_EQ(run.Top(0)[0], 1000);
}

TEST_P(SoftmaxTest, FollowsTheNormalizationMode) {
  const std::string ignore = "loss_param { ignore_label: 9 ";
  EXPECT_NEAR(UniformLoss(ignore + "}"), 4 / 4.0, 1e-6);
  EXPECT_NEAR(UniformLoss(ignore + "normalization: FULL }"), 4 / 6.0, 1e-6);
  EXPECT_NEAR(UniformLoss(ignore + "normalization: BATCH_SIZE }"), 4 / 3.0, 1e-6);
  EXPECT_NEAR(UniformLoss(ignore + "normalization: NONE }"), 4, 1e-6);
  EXPECT_NEAR(UniformLoss(ignore + "normalize: false }"), 4 / 3.0, 1e-6);
  EXPECT_NEAR(UniformLoss(ignore + "normalize: true }"), 4 / 4.0, 1e-6);
}

TEST_P(SoftmaxTest, ImagesThatFillUpTheBatchDoNotCount) {
  Batch batch;
  batch.images.desc.shape = {3, 1, 1, 1};
  batch.padding = 1;
  EXPECT_NEAR(UniformLoss("", &batch), 1, 1e-6);
  EXPECT_NEAR(UniformLoss("loss_param { normalization: NONE }", &batch), 4, 1e-6);
  EXPECT_NEAR(UniformLoss("loss_param { normalization: BATCH_SIZE }", &batch), 2, 1e-6);
}

TEST_P(SoftmaxTest, MixedLabelsMixTheLosses) {
  constexpr int64_t kSamples = 3, kClasses = 5, kPlaces = 2, kIgnored = 9;
  const Shape shape = {kSamples, kClasses, kPlaces};
  const std::vector<int64_t> labels = {1, 4, 1, kIgnored, 0, 3};
  const Values x = RandomValues(shape.count(), 3, 8);
  const auto p = Probabilities(x, kSamples, kClasses, kPlaces);
  Batch batch;
  batch.images.desc.shape = {kSamples, 1, 1, 1};
  batch.mix.height = batch.mix.width = 1;
  for (const float share : {0.7f, 0.f, 1.f}) {
    batch.mix.label_share = share;
    for (const double smoothing : {0.0, 0.1}) {
      double loss = 0;
      Values gradient(shape.count());
      for (int64_t n = 0; n < kSamples; ++n) {
        for (int64_t k = 0; k < kPlaces; ++k) {
          for (const bool own : {true, false}) {
            const int64_t label = labels[(own ? n : (n + 2) % 3) * kPlaces + k];
            if (label == kIgnored) continue;
            // Of the five labels that count.
            const double weight = (own ? double{share} : 1 - double{share}) / 5;
            for (int64_t c = 0; c < kClasses; ++c) {
              const int64_t i = (n * kClasses + c) * kPlaces + k;
              const double target = (c == label ? 1 - smoothing : 0) + smoothing / kClasses;
              loss -= weight * target * std::log(p[i]);
              gradient[i] += static_cast<float>(weight * (p[i] - target));
            }
          }
        }
      }
      RunOptions options = Options();
      options.batch = &batch;
      LayerRun run(Loss(StrCat("loss_param { ignore_label: 9 label_smoothing: ", smoothing, " }"),
                        shape, labels),
                   options);
      run.SetBottom(0, x);
      run.Forward();
      EXPECT_NEAR(run.Top(0)[0], loss, 2e-6 * loss);
      run.Backward();
      ExpectNear(run.BottomDiff(0), gradient, 1e-6, StrCat(share, " ", smoothing));
    }
  }
}

TEST_P(SoftmaxTest, RefusesMixedImagesThatAreNotItsSamples) {
  Batch batch;
  batch.images.desc.shape = {6, 1, 1, 1};
  batch.mix.height = batch.mix.width = 1;
  try {
    UniformLoss("loss_param { ignore_label: 9 }", &batch);
    FAIL() << "nothing was refused";
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("has 3 samples, but the batch has 6 images"), message.npos) << message;
  }
}

TEST_P(SoftmaxTest, LossScaleAndWeightMultiplyTheGradient) {
  RunOptions options = Options();
  LayerRun plain(Loss("", {2, 5}, {1, 4}), options);
  options.loss_scale = 64;
  LayerRun scaled(Loss("loss_weight: 0.25", {2, 5}, {1, 4}), options);
  plain.Forward();
  scaled.Forward();
  EXPECT_EQ(scaled.Top(0), plain.Top(0));
  plain.Backward();
  scaled.Backward();
  EXPECT_EQ(plain.layer().LossWeight(0), 1);
  Values expected = plain.BottomDiff(0);
  for (float& value : expected) value *= 16;
  EXPECT_EQ(scaled.BottomDiff(0), expected);
}

TEST_P(SoftmaxTest, NamesTheSampleWhoseLabelIsOutOfRange) {
  for (int64_t label : {int64_t{1000}, int64_t{-1}}) {
    LayerRun run(Loss("", {5, 1000}, {1, 2, 3, label, 4}), Options());
    try {
      run.Forward();
      FAIL() << "label " << label << " was taken";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(
                    StrCat("label ", label, " of sample 3 in the batch is outside 0..999")),
                std::string::npos)
          << e.what();
    }
  }
}

TEST_P(SoftmaxTest, RefusesLabelsThatDoNotFit) {
  ExpectSetUpError(Loss("", {5, 10}, {1, 2}), "labels 2 are 2");
  ExpectSetUpError(Loss("", {2}, {1, 2}), "axis 1 is out of range");
  ExpectSetUpError(Loss("loss_param { label_smoothing: 1 }", {1, 2}, {1}), "label_smoothing");
  LayerCase two = Loss("loss_weight: 1 loss_weight: 1", {1, 2}, {1});
  two.tops = 2;
  ExpectSetUpError(two, "has no gradient");
}

GF_FOR_EVERY_DEVICE(SoftmaxTest);

}  // namespace
}  // namespace gf

// Class weights of SoftmaxWithLoss: the losses and gradients of PyTorch's CrossEntropyLoss(weight).

#include <cmath>
#include <string>
#include <vector>

#include "core/batch.h"
#include "tests/layers/device_test.h"

namespace gf {
namespace {

constexpr int64_t kIgnored = 9;

// A loss of scores [outer][classes][inner], all mixed with the image before.
struct Example {
  int64_t outer, classes, inner;
  std::vector<int64_t> labels;
  Values weights, scores;
  double smoothing = 0, share = 1;

  int64_t predictions() const { return outer * inner; }
  int64_t At(int64_t prediction, int64_t c) const {
    return (prediction / inner * classes + c) * inner + prediction % inner;
  }
  // The label that is mixed into a prediction.
  int64_t Other(int64_t prediction) const {
    return labels[(prediction + predictions() - inner) % predictions()];
  }
};

struct Result {
  double loss = 0;
  Values gradient;
};

// Of a prediction with a label. Adds its gradient, times `factor`.
double LossOf(const Example& e, int64_t prediction, int64_t label, double factor,
              std::vector<double>* gradient) {
  if (label == kIgnored) return 0;
  double sum = 0, loss = 0, weight = 0;
  for (int64_t c = 0; c < e.classes; ++c) sum += std::exp(double{e.scores[e.At(prediction, c)]});
  const auto pull = [&](int64_t c) {
    return e.weights[c] * ((c == label ? 1 - e.smoothing : 0) + e.smoothing / e.classes);
  };
  for (int64_t c = 0; c < e.classes; ++c) {
    loss -= pull(c) * (e.scores[e.At(prediction, c)] - std::log(sum));
    weight += pull(c);
  }
  for (int64_t c = 0; c < e.classes; ++c) {
    const int64_t i = e.At(prediction, c);
    (*gradient)[i] += factor * (std::exp(double{e.scores[i]}) / sum * weight - pull(c));
  }
  return factor * loss;
}

// By the definition. `divisor`: 0 is the sum of the weights of the labels.
Result Expected(const Example& e, double divisor = 0) {
  std::vector<double> gradient(e.scores.size());
  double loss = 0, weight = 0;
  for (int64_t n = 0; n < e.predictions(); ++n) {
    loss += LossOf(e, n, e.labels[n], e.share, &gradient) +
            LossOf(e, n, e.Other(n), 1 - e.share, &gradient);
    if (e.labels[n] != kIgnored) weight += e.weights[e.labels[n]];
  }
  if (divisor == 0) divisor = weight;
  Result result;
  result.loss = loss / divisor;
  for (double value : gradient) result.gradient.push_back(static_cast<float>(value / divisor));
  return result;
}

class ClassWeightTest : public DeviceTest {
 protected:
  static std::string Param(const Values& weights, const std::string& more = "") {
    std::string text = "loss_param { " + more;
    for (float weight : weights) text += StrCat(" class_weight: ", weight);
    return text + " }";
  }

  static LayerCase Loss(const std::string& fields, Shape scores, std::vector<int64_t> labels) {
    LayerCase test = Case("type: 'SoftmaxWithLoss' " + fields,
                          {std::move(scores), Shape{static_cast<int64_t>(labels.size())}});
    test.labels = std::move(labels);
    return test;
  }

  Result Run(const Example& e, const std::string& more = "") const {
    Batch batch;
    batch.images.desc.shape = {e.outer, 1, 1, 1};
    batch.mix.height = batch.mix.width = 1;
    batch.mix.label_share = static_cast<float>(e.share);
    RunOptions options = Options();
    options.batch = &batch;
    const std::string fields =
        StrCat("ignore_label: ", kIgnored, " label_smoothing: ", e.smoothing, " ", more);
    LayerRun run(Loss(Param(e.weights, fields), {e.outer, e.classes, e.inner}, e.labels), options);
    run.SetBottom(0, e.scores);
    run.Forward();
    const double loss = run.Top(0)[0];
    run.Backward();
    return {loss, run.BottomDiff(0)};
  }

  static void ExpectResult(const Result& got, const Result& expected, const std::string& what) {
    EXPECT_NEAR(got.loss, expected.loss, 2e-6 * std::fabs(expected.loss) + 1e-7) << what;
    ExpectNear(got.gradient, expected.gradient, 2e-6, what);
  }

  // Scores that a net would learn weights for: one class is rare, one does not count.
  static Example Small(int64_t inner) {
    Example e{4, 5, inner, {}, {0.5f, 3, 1, 0, 0.25f}, {}};
    for (int64_t n = 0; n < e.predictions(); ++n) e.labels.push_back(n * 3 % 5);
    e.scores = RandomValues(e.predictions() * e.classes, 5, 2);
    return e;
  }
};

TEST_P(ClassWeightTest, IsItsFormula) {
  for (const int64_t inner : {1, 2, 70}) {
    Example e = Small(inner);
    for (const bool ignoring : {false, true}) {
      if (ignoring) e.labels[1] = kIgnored;
      for (const double smoothing : {0.0, 0.1}) {
        e.smoothing = smoothing;
        ExpectResult(Run(e), Expected(e), StrCat(inner, " ", ignoring, " ", smoothing));
      }
    }
  }
}

TEST_P(ClassWeightTest, ManyClassesHaveTheirWeights) {
  Example e{3, 1000, 1, {0, 999, 500}, RandomValues(1000, 4), RandomValues(3000, 6, 3)};
  for (float& weight : e.weights) weight = std::fabs(weight);
  e.smoothing = 0.1;
  ExpectResult(Run(e), Expected(e), "1000 classes");
}

TEST_P(ClassWeightTest, FollowsTheNormalizationMode) {
  Example e = Small(2);
  e.labels[3] = kIgnored;
  ExpectResult(Run(e, "normalization: VALID"), Expected(e), "VALID");
  ExpectResult(Run(e, "normalization: FULL"), Expected(e, 8), "FULL");
  ExpectResult(Run(e, "normalization: BATCH_SIZE"), Expected(e, 4), "BATCH_SIZE");
  ExpectResult(Run(e, "normalization: NONE"), Expected(e, 1), "NONE");
}

TEST_P(ClassWeightTest, TheirScaleDoesNotMatter) {
  Example e = Small(1);
  const Result expected = Expected(e);
  for (float& weight : e.weights) weight *= 1e-3f;
  ExpectResult(Run(e), expected, "weights times 0.001");
}

TEST_P(ClassWeightTest, WeightsOfOneAreNone) {
  Example e = Small(2);
  e.smoothing = 0.1;
  e.weights.clear();
  const Result none = Run(e);
  e.weights = {1, 1, 1, 1, 1};
  ExpectResult(Run(e), none, "ones");
}

TEST_P(ClassWeightTest, LabelsThatDoNotCountGiveNoGradient) {
  Example e = Small(1);
  e.labels = {3, 3, 3, 3};
  const Result got = Run(e);
  EXPECT_EQ(got.loss, 0);
  for (float value : got.gradient) EXPECT_EQ(value, 0);
}

TEST_P(ClassWeightTest, MixedLabelsMixTheWeightedLosses) {
  for (const int64_t inner : {1, 2}) {
    Example e = Small(inner);
    e.labels[1] = kIgnored;
    e.labels[0] = e.Other(0);  // both labels are one
    for (const double share : {0.75, 0.0}) {
      for (const double smoothing : {0.0, 0.1}) {
        e.share = share;
        e.smoothing = smoothing;
        ExpectResult(Run(e), Expected(e), StrCat(inner, " ", share, " ", smoothing));
      }
    }
  }
}

// lam * CE(scores, own labels) + (1 - lam) * CE(scores, other labels)
TEST_P(ClassWeightTest, MixedLabelsAreTheMixOfTwoMeans) {
  Example e = Small(1), own = e, other = e;
  e.share = 0.75;
  e.smoothing = own.smoothing = other.smoothing = 0.1;
  for (int64_t n = 0; n < e.predictions(); ++n) other.labels[n] = e.Other(n);
  EXPECT_NEAR(Run(e).loss, 0.75 * Expected(own).loss + 0.25 * Expected(other).loss, 1e-5);
}

TEST_P(ClassWeightTest, RefusesWeightsThatDoNotFit) {
  const auto expect = [&](const Values& weights, const std::string& part) {
    ExpectSetUpError(Loss(Param(weights), {1, 3}, {1}), part);
  };
  expect(
      {1, 2},
      "class_weight, of loss_param or of the job's solver, has 2 values, expected 3, one for each "
      "class of scores 1x3: correct it");
  expect({1, -0.5f, 1}, "loss_param.class_weight[1] is -0.5; it must be finite and at least 0");
  expect({1, 1, INFINITY}, "loss_param.class_weight[2] is inf; it must be finite");
  expect({1, 1, NAN}, "loss_param.class_weight[2] is nan; it must be finite");
  expect({0, 0, 0}, "all values of loss_param.class_weight are 0");
}

GF_FOR_EVERY_DEVICE(ClassWeightTest);

}  // namespace
}  // namespace gf

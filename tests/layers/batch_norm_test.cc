#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

const Shape kShape = {3, 19, 4, 5};
// On a GPU many blocks share the rows, and packs of columns are moved at once.
const Shape kManyRows = {16, 24, 22, 23};

struct Expected {
  Values top, mean, variance;  // the unbiased variance
};

// Ioffe and Szegedy, algorithm 1, with gamma, beta, the added bottom and the ReLU.
Expected Reference(const LayerRun& run, const Shape& shape, double eps, bool scale, bool add,
                   bool relu) {
  const int64_t channels = shape[1], plane = shape.count(2, 4), n = shape[0];
  const Values& x = run.bottom_values(0);
  Expected expected;
  expected.top.resize(x.size());
  for (int64_t c = 0; c < channels; ++c) {
    const double count = static_cast<double>(n * plane);
    const auto each = [&](const auto& body) {
      for (int64_t i = 0; i < n * plane; ++i) body((i / plane * channels + c) * plane + i % plane);
    };
    double mean = 0, variance = 0;
    each([&](int64_t at) { mean += x[at] / count; });
    each([&](int64_t at) { variance += (x[at] - mean) * (x[at] - mean) / count; });
    each([&](int64_t at) {
      double y = (x[at] - mean) / std::sqrt(variance + eps);
      if (scale) y = run.parameter_values(0)[c] * y + run.parameter_values(1)[c];
      if (add) y += run.bottom_values(1)[at];
      expected.top[at] = static_cast<float>(relu && y < 0 ? 0 : y);
    });
    expected.mean.push_back(static_cast<float>(mean));
    expected.variance.push_back(static_cast<float>(variance * count / (count - 1)));
  }
  return expected;
}

// Adds up what two threads bring.
class TwoThreads : public GroupSum {
 public:
  int size() const override { return 2; }
  void Sum(double* values, int64_t count) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t round = calls_ / 2;
    sums_.resize(round + 1);
    std::vector<double>& sum = sums_[round];
    sum.resize(count);
    for (int64_t i = 0; i < count; ++i) sum[i] += values[i];
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return calls_ >= 2 * (round + 1); });
    std::copy(sums_[round].begin(), sums_[round].end(), values);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t calls_ = 0;
  std::vector<std::vector<double>> sums_;
};

// Images [begin, end) of values[kBatch][...].
Values Images(const Values& values, int64_t images, int64_t begin, int64_t end) {
  const auto per_image = static_cast<int64_t>(values.size()) / images;
  return Values(values.begin() + begin * per_image, values.begin() + end * per_image);
}

class BatchNormTest : public DeviceTest {
 protected:
  void Compare(const std::string& fusion, bool scale, bool add, bool relu,
               const Shape& shape = kShape) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      std::vector<Shape> bottoms(add ? 2 : 1, shape);
      LayerRun run(Case("type: 'BatchNorm' batch_norm_param { eps: 1e-3 "
                        "moving_average_fraction: 0.75 } " +
                            fusion,
                        bottoms),
                   options);
      // A mean far from 0, so that cancellation would show.
      run.SetBottom(0, RandomValues(shape.count(), 31, 0.5f, 40));
      run.SetState(0, Values(shape[1], 2));
      run.SetState(1, Values(shape[1], 4));
      run.Forward();
      const Expected expected = Reference(run, shape, 1e-3, scale, add, relu);
      ExpectNear(run.Top(0), expected.top, 1e-4, format);
      Values mean = expected.mean, variance = expected.variance;
      for (float& value : mean) value = 0.75f * 2 + 0.25f * value;
      for (float& value : variance) value = 0.75f * 4 + 0.25f * value;
      ExpectNear(run.State(0), mean, 1e-5, "running mean");
      ExpectNear(run.State(1), variance, 1e-5, "running variance");
    }
  }
};

TEST_P(BatchNormTest, MatchesItsDefinition) { Compare("", false, false, false); }

TEST_P(BatchNormTest, FusedScaleReluAndSumMatchTheLayers) {
  const std::string scale = "fusion { scale: true scale_bias: true ";
  Compare(scale + "}", true, false, false);
  Compare(scale + "relu: true }", true, false, true);
  Compare(scale + "add: true }", true, true, false);
  Compare(scale + "add: true relu: true }", true, true, true);
  Compare("fusion { relu: true }", false, false, true);
}

TEST_P(BatchNormTest, StatisticsOfManyRowsMatchTheirDefinition) {
  Compare("fusion { scale: true scale_bias: true relu: true }", true, false, true, kManyRows);
}

// Ioffe and Szegedy, section 3, through the ReLU.
TEST_P(BatchNormTest, GradientsOfManyRowsMatchTheirDefinition) {
  const int64_t channels = kManyRows[1], plane = kManyRows.count(2, 4);
  const int64_t rows = kManyRows[0] * plane;
  RunOptions options = Options();
  options.format = "nhwc";
  LayerRun run(Case("type: 'BatchNorm' batch_norm_param { eps: 1e-3 } "
                    "fusion { scale: true scale_bias: true relu: true }",
                    {kManyRows}),
               options);
  const Values x = RandomValues(kManyRows.count(), 31, 1, 2);
  const Values dy = RandomValues(kManyRows.count(), 32);
  run.SetBottom(0, x);
  run.SetTopDiff(0, dy);
  run.Forward();
  const Values y = run.Top(0);
  run.Backward();
  Values dgamma(channels), dbeta(channels), dx(x.size());
  for (int64_t c = 0; c < channels; ++c) {
    const auto each = [&](const auto& body) {
      for (int64_t i = 0; i < rows; ++i) body((i / plane * channels + c) * plane + i % plane);
    };
    double mean = 0, variance = 0, product = 0, sum = 0;
    each([&](int64_t at) { mean += x[at] / rows; });
    each([&](int64_t at) { variance += (x[at] - mean) * (x[at] - mean) / rows; });
    const double inverse_std = 1 / std::sqrt(variance + 1e-3);
    const auto dz = [&](int64_t at) { return y[at] > 0 ? dy[at] : 0; };
    const auto xhat = [&](int64_t at) { return (x[at] - mean) * inverse_std; };
    each([&](int64_t at) {
      product += dz(at) * xhat(at);
      sum += dz(at);
    });
    dgamma[c] = static_cast<float>(product);
    dbeta[c] = static_cast<float>(sum);
    each([&](int64_t at) {
      dx[at] = static_cast<float>(run.parameter_values(0)[c] * inverse_std *
                                  (dz(at) - sum / rows - xhat(at) * product / rows));
    });
  }
  ExpectNear(run.ParameterDiff(0), dgamma, 1e-3, "gamma");
  ExpectNear(run.ParameterDiff(1), dbeta, 1e-3, "beta");
  ExpectNear(run.BottomDiff(0), dx, 1e-4, "x");
}

// Two ranks with half a batch each, in a group, do together what one does with the whole batch.
TEST_P(BatchNormTest, AGroupOfRanksIsLikeOneRankWithTheirBatches) {
  if (GetParam() != "cpu") GTEST_SKIP() << "only the CPU's batch norms share statistics";
  const Shape whole = {6, 19, 4, 5}, half = {3, 19, 4, 5};
  const std::string norm =
      "type: 'BatchNorm' batch_norm_param { eps: 1e-3 moving_average_fraction: 0.75 } "
      "fusion { scale: true scale_bias: true relu: true }";
  for (const char* format : {"plain", "blocked", "nhwc"}) {
    RunOptions options = Options();
    options.format = format;
    LayerRun one(Case(norm, {whole}), options);
    Values x = RandomValues(whole.count(), 31, 0.5f, 40);
    // The halves differ much, so that statistics of their own would show.
    for (int64_t i = half.count(); i < whole.count(); ++i) x[i] = 2 * x[i] - 60;
    const Values dy = RandomValues(whole.count(), 32);
    one.SetBottom(0, x);
    one.SetTopDiff(0, dy);
    one.Forward();
    const Values top = one.Top(0);
    one.Backward();

    TwoThreads group;
    options.batch_norm_group = &group;
    std::vector<std::unique_ptr<LayerRun>> ranks;
    for (int r = 0; r < 2; ++r) {
      ranks.push_back(std::make_unique<LayerRun>(Case(norm, {half}), options));
      ranks[r]->SetBottom(0, Images(x, 6, 3 * r, 3 * r + 3));
      ranks[r]->SetTopDiff(0, Images(dy, 6, 3 * r, 3 * r + 3));
    }
    Values tops[2];
    const auto run = [&](int r) {
      ranks[r]->Forward();
      tops[r] = ranks[r]->Top(0);
      ranks[r]->Backward();
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    for (int r = 0; r < 2; ++r) {
      ExpectNear(tops[r], Images(top, 6, 3 * r, 3 * r + 3), 1e-5, "top");
      ExpectNear(ranks[r]->BottomDiff(0), Images(one.BottomDiff(0), 6, 3 * r, 3 * r + 3), 1e-4,
                 "gradient");
      ExpectNear(ranks[r]->State(0), one.State(0), 1e-6, "running mean");
      ExpectNear(ranks[r]->State(1), one.State(1), 1e-5, "running variance");
    }
    for (int i = 0; i < 2; ++i) {
      Values sum = ranks[0]->ParameterDiff(i), second = ranks[1]->ParameterDiff(i);
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += second[k];
      ExpectNear(sum, one.ParameterDiff(i), 1e-4, "gradient of a parameter");
    }
  }
}

TEST_P(BatchNormTest, UsesRunningStatisticsInPhaseTest) {
  LayerCase test = Case("type: 'BatchNorm' batch_norm_param { eps: 1e-3 }", {{2, 3}});
  test.phase = TEST;
  RunOptions options = Options();
  options.backward = false;
  LayerRun run(test, options);
  run.SetBottom(0, {1, 2, 3, 4, 5, 6});
  run.SetState(0, {1, 2, 3});
  run.SetState(1, {1, 4, 9});
  run.Forward();
  Values expected;
  for (float x : {0 / 1.f, 0 / 2.f, 0 / 3.f, 3 / 1.f, 3 / 2.f, 3 / 3.f}) expected.push_back(x);
  ExpectNear(run.Top(0), expected, 1e-3, "top");
  EXPECT_EQ(run.State(0), (Values{1, 2, 3}));
  EXPECT_EQ(run.State(1), (Values{1, 4, 9}));
}

TEST_P(BatchNormTest, RefusesInvalidShapesAndSettings) {
  ExpectSetUpError(Case("type: 'BatchNorm'", {{1, 3}}), "more than one value per channel");
  ExpectSetUpError(Case("type: 'BatchNorm'", {{3}}), "got 3");
  ExpectSetUpError(Case("type: 'BatchNorm' batch_norm_param { eps: 0 }", {{2, 3}}), "eps");
  ExpectSetUpError(
      Case("type: 'BatchNorm' batch_norm_param { moving_average_fraction: 2 }", {{2, 3}}),
      "moving_average_fraction");
  ExpectSetUpError(Case("type: 'BatchNorm' fusion { add: true }", {{2, 3}, {3, 2}}), "3x2");
}

GF_FOR_EVERY_DEVICE(BatchNormTest);

}  // namespace
}  // namespace gf

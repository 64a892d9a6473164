#include <cmath>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

const Shape kShape = {3, 19, 4, 5};

struct Expected {
  Values top, mean, variance;  // the unbiased variance
};

// Ioffe and Szegedy, algorithm 1, with gamma, beta, the added bottom and the ReLU.
Expected Reference(const LayerRun& run, double eps, bool scale, bool add, bool relu) {
  const int64_t channels = kShape[1], plane = kShape.count(2, 4), n = kShape[0];
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

class BatchNormTest : public DeviceTest {
 protected:
  void Compare(const std::string& fusion, bool scale, bool add, bool relu) {
    for (const char* format : {"plain", "blocked", "nhwc"}) {
      RunOptions options = Options();
      options.format = format;
      std::vector<Shape> bottoms(add ? 2 : 1, kShape);
      LayerRun run(Case("type: 'BatchNorm' batch_norm_param { eps: 1e-3 "
                        "moving_average_fraction: 0.75 } " +
                            fusion,
                        bottoms),
                   options);
      // A mean far from 0, so that cancellation would show.
      run.SetBottom(0, RandomValues(kShape.count(), 31, 0.5f, 40));
      run.SetState(0, Values(kShape[1], 2));
      run.SetState(1, Values(kShape[1], 4));
      run.Forward();
      const Expected expected = Reference(run, 1e-3, scale, add, relu);
      ExpectNear(run.Top(0), expected.top, 1e-4, format);
      Values mean = expected.mean, variance = expected.variance;
      for (float& value : mean) value = 0.75f * 2 + 0.25f * value;
      for (float& value : variance) value = 0.75f * 4 + 0.25f * value;
      ExpectNear(run.State(0), mean, 1e-5, "running mean");
      ExpectNear(run.State(1), variance, 1e-5, "running variance");
    }
  }
};

TEST_P(BatchNormTest, IsItsDefinition) { Compare("", false, false, false); }

TEST_P(BatchNormTest, FusedScaleReluAndSumAreThoseLayers) {
  const std::string scale = "fusion { scale: true scale_bias: true ";
  Compare(scale + "}", true, false, false);
  Compare(scale + "relu: true }", true, false, true);
  Compare(scale + "add: true }", true, true, false);
  Compare(scale + "add: true relu: true }", true, true, true);
  Compare("fusion { relu: true }", false, false, true);
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

TEST_P(BatchNormTest, RefusesWhatDoesNotFit) {
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

#include <algorithm>
#include <limits>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

struct Pool {
  std::array<int64_t, 2> kernel, stride = {1, 1}, pad = {0, 0};
  bool floor = false;
};

// The number of windows, as Caffe counts them.
int64_t Outputs(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool floor) {
  const int64_t space = in + 2 * pad - kernel;
  int64_t count = (floor ? space / stride : (space + stride - 1) / stride) + 1;
  if (pad > 0 && (count - 1) * stride >= in + pad) --count;
  return count;
}

Values Reference(const Pool& pool, const Shape& in, const Shape& out, const Values& x, bool max) {
  Values y(out.count());
  for (int64_t p = 0, at = 0; p < in[0] * in[1]; ++p) {
    for (int64_t h = 0; h < out[2]; ++h) {
      for (int64_t w = 0; w < out[3]; ++w, ++at) {
        const int64_t top = h * pool.stride[0] - pool.pad[0];
        const int64_t left = w * pool.stride[1] - pool.pad[1];
        const int64_t bottom = std::min(top + pool.kernel[0], in[2] + pool.pad[0]);
        const int64_t right = std::min(left + pool.kernel[1], in[3] + pool.pad[1]);
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for (int64_t i = std::max<int64_t>(top, 0); i < std::min(bottom, in[2]); ++i) {
          for (int64_t j = std::max<int64_t>(left, 0); j < std::min(right, in[3]); ++j) {
            const double value = x[(p * in[2] + i) * in[3] + j];
            sum += value;
            largest = std::max(largest, value);
          }
        }
        const double area = static_cast<double>((bottom - top) * (right - left));
        y[at] = static_cast<float>(max ? largest : sum / area);
      }
    }
  }
  return y;
}

class PoolingTest : public DeviceTest {
 protected:
  void Compare(const Shape& in, const Pool& pool) {
    for (bool max : {true, false}) {
      const std::string prototxt = StrCat(
          "type: 'Pooling' pooling_param { pool: ", max ? "MAX" : "AVE",
          " kernel_h: ", pool.kernel[0], " kernel_w: ", pool.kernel[1],
          " stride_h: ", pool.stride[0], " stride_w: ", pool.stride[1], " pad_h: ", pool.pad[0],
          " pad_w: ", pool.pad[1], pool.floor ? " round_mode: FLOOR }" : " }");
      for (const char* format : {"plain", "blocked", "blocked8", "nhwc"}) {
        RunOptions options = Options();
        options.format = format;
        LayerRun run(Case(prototxt, {in}), options);
        const Shape out = {in[0], in[1],
                           Outputs(in[2], pool.kernel[0], pool.stride[0], pool.pad[0], pool.floor),
                           Outputs(in[3], pool.kernel[1], pool.stride[1], pool.pad[1], pool.floor)};
        ASSERT_EQ(run.layer().tops()[0], out) << prototxt;
        run.Forward();
        ExpectNear(run.Top(0), Reference(pool, in, out, run.bottom_values(0), max), 1e-6,
                   prototxt + format);
      }
    }
  }
};

TEST_P(PoolingTest, MatchesCaffesDefinition) {
  Compare({2, 19, 7, 6}, {{3, 3}, {2, 2}});
  Compare({1, 16, 8, 8}, {{3, 3}, {2, 2}, {1, 1}});
  Compare({1, 5, 9, 7}, {{2, 4}, {3, 1}, {1, 2}});
  Compare({1, 3, 10, 11}, {{3, 3}, {2, 2}, {1, 1}, true});
  Compare({1, 3, 12, 12}, {{5, 5}, {3, 3}, {2, 2}});
  Compare({2, 19, 7, 6}, {{2, 2}, {2, 2}});
  Compare({2, 19, 7, 6}, {{2, 2}, {2, 2}, {0, 0}, true});
  Compare({1, 16, 9, 8}, {{2, 2}, {3, 3}, {1, 1}});
  Compare({1, 16, 9, 8}, {{3, 3}, {3, 3}, {1, 0}, true});
}

TEST_P(PoolingTest, CeilModeIsAnotherNameOfTheRounding) {
  const auto top = [&](const std::string& rounding) {
    const std::string pooling =
        "type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 pad: 1 " + rounding + " }";
    return LayerRun(Case(pooling, {{1, 3, 10, 11}}), Options()).layer().tops()[0];
  };
  EXPECT_EQ(top(""), (Shape{1, 3, 6, 6}));
  EXPECT_EQ(top("ceil_mode: true"), (Shape{1, 3, 6, 6}));
  EXPECT_EQ(top("ceil_mode: false"), (Shape{1, 3, 5, 6}));
  ExpectSetUpError(Case("type: 'Pooling' pooling_param { kernel_size: 3 ceil_mode: false "
                        "round_mode: FLOOR }",
                        {{1, 3, 10, 11}}),
                   "has both round_mode and ceil_mode; give one");
}

TEST_P(PoolingTest, GlobalTakesTheWholeImage) {
  LayerRun run(
      Case("type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", {{2, 3, 5, 4}}),
      Options());
  run.Forward();
  ASSERT_EQ(run.layer().tops()[0], (Shape{2, 3, 1, 1}));
  ExpectNear(run.Top(0),
             Reference({{5, 4}}, {2, 3, 5, 4}, {2, 3, 1, 1}, run.bottom_values(0), false), 1e-6,
             "mean");
}

TEST_P(PoolingTest, FusedReluGradientMatchesBothLayers) {
  // A ReLU, then the pooling, against the pooling that does the ReLU's backward pass. Windows
  // overlap, lie side by side, or leave pixels out.
  const Shape in = {2, 19, 8, 7};
  for (const char* windows : {"kernel_size: 3 stride: 2", "kernel_size: 2 stride: 2",
                              "kernel_size: 2 stride: 3 pad: 1", "kernel_size: 3 stride: 3"}) {
    const std::string pool = StrCat("type: 'Pooling' pooling_param { ", windows, " } ");
    for (const char* format : {"plain", "blocked", "blocked8"}) {
      for (const DType type : {DType::kFP32, DType::kBF16}) {
        RunOptions options = Options();
        options.format = format;
        options.compute = type;
        LayerRun relu(Case("type: 'ReLU'", {in}), options);
        relu.SetBottom(0, RandomValues(in.count(), 3, 1, -1));
        relu.Forward();
        const Values clipped = relu.Top(0);
        LayerRun plain(Case(pool, {in}), options),
            fused(Case(pool + "fusion { relu_backward: true }", {in}), options);
        for (LayerRun* run : {&plain, &fused}) {
          run->SetBottom(0, clipped);
          run->Forward();
          run->Backward();
        }
        relu.SetTopDiff(0, plain.BottomDiff(0));
        relu.Backward();
        EXPECT_EQ(fused.BottomDiff(0), relu.BottomDiff(0)) << windows << " " << format;
      }
    }
  }
}

TEST_P(PoolingTest, MaximumOfNanIsNan) {
  Values x(9, 1);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  const Values top =
      Top(Case("type: 'Pooling' pooling_param { kernel_size: 3 }", {{1, 1, 3, 3}}), {x});
  EXPECT_TRUE(top[0] != top[0]);
}

TEST_P(PoolingTest, RefusesInvalidShapesAndSettings) {
  const auto pool = [](const std::string& fields, Shape bottom = {2, 4, 5, 5}) {
    return Case("type: 'Pooling' pooling_param { " + fields + " }", {bottom});
  };
  ExpectSetUpError(pool(""), "kernel_size");
  ExpectSetUpError(pool("kernel_size: 6"), "output would be empty");
  ExpectSetUpError(pool("kernel_size: 2 pad: 2"), "pad");
  ExpectSetUpError(pool("kernel_size: 2 stride: 0"), "stride");
  ExpectSetUpError(pool("kernel_size: 2 pool: STOCHASTIC"), "stochastic");
  ExpectSetUpError(pool("kernel_size: 2 global_pooling: true"), "global_pooling");
  ExpectSetUpError(pool("kernel_size: 2", {2, 4}), "four axes");
}

TEST_P(PoolingTest, RefusesLargeImages) {
  ExpectLargeImagesRefused("type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }");
}

GF_FOR_EVERY_DEVICE(PoolingTest);

}  // namespace
}  // namespace gf

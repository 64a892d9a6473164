#include <array>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

struct Geometry {
  std::array<int64_t, 2> kernel, stride = {1, 1}, pad = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;

  // The fields of convolution_param.
  std::string Text() const {
    return StrCat(" kernel_h: ", kernel[0], " kernel_w: ", kernel[1], " stride_h: ", stride[0],
                  " stride_w: ", stride[1], " pad_h: ", pad[0], " pad_w: ", pad[1], " dilation: [",
                  dilation[0], ", ", dilation[1], "] group: ", groups);
  }
};

std::string Prototxt(const std::string& type, int64_t outputs, const Geometry& geometry,
                     bool bias) {
  return StrCat("type: '", type, "' convolution_param { num_output: ", outputs, geometry.Text(),
                " bias_term: ", bias ? "true" : "false", " }");
}

// Every pixel of the bottom adds its multiples of the filters to its window of the top.
Values Reference(const Geometry& geometry, bool bias, const LayerRun& run) {
  const Shape &in = run.setup().bottoms[0].shape, &out = run.setup().tops[0].shape;
  const Values &x = run.bottom_values(0), &weight = run.parameter_values(0);
  const int64_t outputs = out[1] / geometry.groups;
  std::vector<double> y(out.count());
  for (int64_t n = 0, at = 0; n < in[0]; ++n) {
    for (int64_t c = 0; c < in[1]; ++c) {
      const int64_t first = c / (in[1] / geometry.groups) * outputs;
      for (int64_t h = 0; h < in[2]; ++h) {
        for (int64_t w = 0; w < in[3]; ++w, ++at) {
          for (int64_t o = 0; o < outputs; ++o) {
            for (int64_t i = 0; i < geometry.kernel[0]; ++i) {
              for (int64_t j = 0; j < geometry.kernel[1]; ++j) {
                const int64_t r =
                    h * geometry.stride[0] - geometry.pad[0] + i * geometry.dilation[0];
                const int64_t s =
                    w * geometry.stride[1] - geometry.pad[1] + j * geometry.dilation[1];
                if (r < 0 || r >= out[2] || s < 0 || s >= out[3]) continue;
                y[((n * out[1] + first + o) * out[2] + r) * out[3] + s] +=
                    double{x[at]} *
                    weight[((c * outputs + o) * geometry.kernel[0] + i) * geometry.kernel[1] + j];
              }
            }
          }
        }
      }
    }
  }
  const int64_t pixels = out[2] * out[3];
  Values top(y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / pixels % out[1];
    top[i] = static_cast<float>(y[i] + (bias ? run.parameter_values(1)[channel] : 0));
  }
  return top;
}

class DeconvolutionTest : public DeviceTest {
 protected:
  void Compare(const Shape& in, int64_t outputs, const Geometry& geometry, const Shape& out,
               bool bias = true) {
    const std::string prototxt = Prototxt("Deconvolution", outputs, geometry, bias);
    for (bool backward : {true, false}) {
      RunOptions options = Options();
      options.backward = backward;
      LayerRun run(Case(prototxt, {in}), options);
      EXPECT_EQ(run.layer().tops()[0], out) << prototxt;
      run.Forward();
      ExpectNear(run.Top(0), Reference(geometry, bias, run), 1e-5, prototxt);
    }
  }
};

TEST_P(DeconvolutionTest, MatchesItsDefinition) {
  Compare({2, 19, 7, 6}, 21, {.kernel = {3, 3}, .pad = {1, 1}}, {2, 21, 7, 6});
  Compare({1, 16, 5, 3}, 3, {.kernel = {11, 11}, .stride = {4, 4}}, {1, 3, 27, 19});
  Compare({1, 17, 5, 4}, 5, {.kernel = {1, 1}, .stride = {2, 2}}, {1, 5, 9, 7}, /*bias=*/false);
  Compare({2, 6, 4, 5}, 4, {.kernel = {2, 3}, .stride = {1, 2}, .pad = {1, 0}, .dilation = {3, 2}},
          {2, 4, 5, 13});
  Compare({3, 1, 1, 1}, 1, {.kernel = {5, 5}, .pad = {2, 2}}, {3, 1, 1, 1});
}

TEST_P(DeconvolutionTest, GroupsSeeTheirOwnChannels) {
  Compare({2, 9, 4, 5}, 6, {.kernel = {3, 3}, .stride = {2, 2}, .groups = 3}, {2, 6, 9, 11});
  Compare({1, 32, 6, 6}, 96, {.kernel = {5, 5}, .pad = {2, 2}, .groups = 2}, {1, 96, 6, 6});
  Compare({1, 16, 5, 6}, 16, {.kernel = {4, 4}, .stride = {2, 2}, .pad = {1, 1}, .groups = 16},
          {1, 16, 10, 12});
}

TEST_P(DeconvolutionTest, IsTheGradientOfAConvolution) {
  const Geometry geometries[] = {{.kernel = {3, 3}, .pad = {1, 1}},
                                 {.kernel = {4, 3}, .stride = {2, 3}, .pad = {1, 0}, .groups = 2},
                                 {.kernel = {2, 3}, .stride = {2, 1}, .dilation = {1, 2}}};
  for (const Geometry& geometry : geometries) {
    const std::string name = geometry.Text();
    LayerRun run(Case(Prototxt("Deconvolution", 6, geometry, false), {{2, 18, 5, 4}}), Options());
    LayerRun convolution(
        Case(Prototxt("Convolution", 18, geometry, false), {run.setup().tops[0].shape}), Options());
    ASSERT_EQ(convolution.setup().tops[0].shape, run.setup().bottoms[0].shape) << name;
    ASSERT_EQ(convolution.layer().parameters()[0].shape, run.layer().parameters()[0].shape);
    EXPECT_EQ(convolution.layer().ForwardFlops(), run.layer().ForwardFlops()) << name;
    convolution.SetBottom(0, run.top_diff_values(0));
    convolution.SetParameter(0, run.parameter_values(0));
    convolution.SetTopDiff(0, run.bottom_values(0));
    // Backward may destroy tops.
    run.Forward();
    convolution.Forward();
    const Values top = run.Top(0), results = convolution.Top(0);
    run.Backward();
    convolution.Backward();
    ExpectNear(run.BottomDiff(0), results, 1e-5, "gradient of the bottom," + name);
    ExpectNear(run.ParameterDiff(0), convolution.ParameterDiff(0), 1e-5,
               "gradient of the weights," + name);
    ExpectNear(top, convolution.BottomDiff(0), 1e-5, "top," + name);
  }
}

TEST_P(DeconvolutionTest, TheGradientOfTheBiasIsASumThatNoThreadChanges) {
  const LayerCase test = Case(
      "type: 'Deconvolution' convolution_param { num_output: 19 kernel_size: 4 stride: 2 pad: 1 }",
      {{3, 5, 16, 17}});
  Values first;
  for (int threads : {1, 2, 5}) {
    RunOptions options = Options();
    options.threads = threads;
    LayerRun run(test, options);
    run.Forward();
    run.Backward();
    const Shape& out = run.setup().tops[0].shape;
    std::vector<double> sums(out[1]);
    for (int64_t i = 0; i < out.count(); ++i) {
      sums[i / (out[2] * out[3]) % out[1]] += run.top_diff_values(0)[i];
    }
    const Values gradient = run.ParameterDiff(1);
    ExpectNear(gradient, Values(sums.begin(), sums.end()), 1e-5, "gradient of the bias");
    if (first.empty()) first = gradient;
    EXPECT_EQ(gradient, first) << threads << " threads";
  }
}

TEST_P(DeconvolutionTest, BilinearWeightsInterpolate) {
  LayerRun run(Case("type: 'Deconvolution' convolution_param { num_output: 1 kernel_size: 4 "
                    "stride: 2 pad: 1 bias_term: false }",
                    {{1, 1, 2, 3}}),
               Options());
  const float side[] = {0.25f, 0.75f, 0.75f, 0.25f};
  Values weights;
  for (float row : side) {
    for (float column : side) weights.push_back(row * column);
  }
  run.SetParameter(0, weights);
  run.SetBottom(0, {0, 16, 32, 64, 80, 96});
  run.Forward();
  // Both rows at twice the width, and the shares of each in the rows of the top. Outside of the
  // image are zeros.
  const Values wide[] = {{0, 4, 12, 20, 28, 24}, {48, 68, 76, 84, 92, 72}};
  const float shares[][2] = {{0.75f, 0}, {0.75f, 0.25f}, {0.25f, 0.75f}, {0, 0.75f}};
  Values expected;
  for (const auto& share : shares) {
    for (int i = 0; i < 6; ++i) expected.push_back(share[0] * wide[0][i] + share[1] * wide[1][i]);
  }
  ExpectNear(run.Top(0), expected, 1e-6, "top");
}

TEST_P(DeconvolutionTest, NewParametersAreUsedInInference) {
  RunOptions options = Options();
  options.backward = false;
  LayerRun run(Case("type: 'Deconvolution' convolution_param { num_output: 16 kernel_size: 3 }",
                    {{1, 16, 1, 1}}),
               options);
  run.Forward();
  EXPECT_NE(run.Top(0), Values(16 * 9, 0));
  run.SetParameter(0, Values(16 * 16 * 9, 0));
  run.SetParameter(1, Values(16, 2));
  run.Forward();
  EXPECT_EQ(run.Top(0), Values(16 * 9, 2));
}

TEST_P(DeconvolutionTest, RefusesInvalidShapesAndSettings) {
  const auto up = [](const std::string& fields, Shape bottom = {2, 4, 5, 5}) {
    return Case("type: 'Deconvolution' convolution_param { " + fields + " }", {bottom});
  };
  ExpectSetUpError(up("kernel_size: 3"), "num_output is missing");
  ExpectSetUpError(up("num_output: 2"), "kernel_size");
  ExpectSetUpError(up("num_output: 2 kernel_size: 3 stride: 0"), "stride");
  ExpectSetUpError(up("num_output: 4 kernel_size: 3 group: 3"),
                   "group 3 must divide both the input channels (4) and num_output (4)");
  ExpectSetUpError(up("num_output: 3 kernel_size: 3 group: 2"), "and num_output (3)");
  ExpectSetUpError(up("num_output: 2 kernel_size: 4 stride: 2 pad: 6"),
                   "the output would be empty: height 5 becomes 12, from which pad 6 removes 12; "
                   "use a smaller pad");
  ExpectSetUpError(up("num_output: 2 kernel_size: 3 pad_w: 4"), "width 5 becomes 7");
  ExpectSetUpError(up("num_output: 4 kernel_size: 3", {2, 4}), "four axes");
  ExpectSetUpError(up("num_output: 4 kernel_size: 3 axis: 2"), "axis 1");
}

GF_FOR_EVERY_DEVICE(DeconvolutionTest);

}  // namespace
}  // namespace gf

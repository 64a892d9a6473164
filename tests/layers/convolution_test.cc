// Convolution and InnerProduct.

#include "core/cpu/dnnl.h"
#include "tests/layers/device_test.h"
#include "tests/layers/how_on_the_cpu.h"

namespace gf {
namespace {

struct Conv {
  std::array<int64_t, 2> kernel, stride = {1, 1}, pad = {0, 0}, dilation = {1, 1};
  int64_t outputs, groups = 1;
  bool bias = true, relu = false;
};

Values Reference(const Conv& conv, const Shape& in, const Shape& out, const LayerRun& run) {
  const Values &x = run.bottom_values(0), &weight = run.parameter_values(0);
  const int64_t inputs = in[1] / conv.groups;
  Values y(out.count());
  for (int64_t n = 0, at = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t h = 0; h < out[2]; ++h) {
        for (int64_t w = 0; w < out[3]; ++w, ++at) {
          double sum = conv.bias ? run.parameter_values(1)[o] : 0;
          for (int64_t c = 0; c < inputs; ++c) {
            const int64_t channel = o / (conv.outputs / conv.groups) * inputs + c;
            for (int64_t i = 0; i < conv.kernel[0]; ++i) {
              for (int64_t j = 0; j < conv.kernel[1]; ++j) {
                const int64_t r = h * conv.stride[0] - conv.pad[0] + i * conv.dilation[0];
                const int64_t s = w * conv.stride[1] - conv.pad[1] + j * conv.dilation[1];
                if (r < 0 || r >= in[2] || s < 0 || s >= in[3]) continue;
                sum += double{x[((n * in[1] + channel) * in[2] + r) * in[3] + s]} *
                       weight[((o * inputs + c) * conv.kernel[0] + i) * conv.kernel[1] + j];
              }
            }
          }
          y[at] = static_cast<float>(conv.relu && sum < 0 ? 0 : sum);
        }
      }
    }
  }
  return y;
}

class ConvolutionTest : public DeviceTest {
 protected:
  void Compare(const Shape& in, const Conv& conv) {
    const std::string prototxt = StrCat(
        "type: 'Convolution' convolution_param { num_output: ", conv.outputs,
        " kernel_h: ", conv.kernel[0], " kernel_w: ", conv.kernel[1], " stride_h: ", conv.stride[0],
        " stride_w: ", conv.stride[1], " pad_h: ", conv.pad[0], " pad_w: ", conv.pad[1],
        " dilation: [", conv.dilation[0], ", ", conv.dilation[1], "] group: ", conv.groups,
        " bias_term: ", conv.bias ? "true" : "false",
        " } fusion { relu: ", conv.relu ? "true" : "false", " }");
    for (bool backward : {true, false}) {
      RunOptions options = Options();
      options.backward = backward;
      LayerRun run(Case(prototxt, {in}), options);
      run.Forward();
      ExpectNear(run.Top(0), Reference(conv, in, run.setup().tops[0].shape, run), 1e-5, prototxt);
    }
  }
};

TEST_P(ConvolutionTest, MatchesItsDefinition) {
  Compare({2, 19, 7, 6}, {.kernel = {3, 3}, .pad = {1, 1}, .outputs = 21});
  Compare({1, 3, 23, 17}, {.kernel = {11, 11}, .stride = {4, 4}, .outputs = 16});
  Compare({1, 17, 9, 8}, {.kernel = {1, 1}, .stride = {2, 2}, .outputs = 5, .bias = false});
  Compare({2, 6, 9, 11},
          {.kernel = {2, 3}, .stride = {1, 2}, .pad = {1, 0}, .dilation = {3, 2}, .outputs = 4});
  Compare({1, 1, 5, 5}, {.kernel = {5, 5}, .outputs = 1, .relu = true});
}

TEST_P(ConvolutionTest, GroupsSeeTheirOwnChannels) {
  Compare({2, 6, 5, 5}, {.kernel = {3, 3}, .pad = {1, 1}, .outputs = 9, .groups = 3});
  Compare({1, 96, 6, 6}, {.kernel = {5, 5}, .pad = {2, 2}, .outputs = 32, .groups = 2});
  Compare({1, 16, 6, 6}, {.kernel = {3, 3}, .outputs = 16, .groups = 16, .relu = true});
}

TEST_P(ConvolutionTest, LeavesTheReluGradientToTheLayerThatAppliedIt) {
  const std::string conv =
      "type: 'Convolution' convolution_param { num_output: 5 kernel_size: 3 } fusion { relu: true ";
  const Shape in = {2, 4, 6, 6};
  LayerRun own(Case(conv + "}", {in}), Options());
  LayerRun done(Case(conv + "relu_backward_done: true }", {in}), Options());
  own.Forward();
  done.Forward();
  Values masked = own.top_diff_values(0);
  const Values top = own.Top(0);
  for (size_t i = 0; i < masked.size(); ++i) masked[i] = top[i] > 0 ? masked[i] : 0;
  done.SetTopDiff(0, masked);
  own.Backward();
  done.Backward();
  EXPECT_EQ(done.BottomDiff(0), own.BottomDiff(0));
  EXPECT_EQ(done.ParameterDiff(0), own.ParameterDiff(0));
}

TEST_P(ConvolutionTest, NewParametersAreUsedInInference) {
  RunOptions options = Options();
  options.backward = false;
  LayerRun run(Case("type: 'Convolution' convolution_param { num_output: 16 kernel_size: 3 }",
                    {{1, 16, 3, 3}}),
               options);
  run.Forward();
  EXPECT_NE(run.Top(0), Values(16, 0));
  run.SetParameter(0, Values(16 * 16 * 9, 0));
  run.SetParameter(1, Values(16, 2));
  run.Forward();
  EXPECT_EQ(run.Top(0), Values(16, 2));
}

TEST_P(ConvolutionTest, InnerProductMatchesItsDefinition) {
  LayerRun run(Case("type: 'InnerProduct' inner_product_param { num_output: 7 } "
                    "fusion { relu: true }",
                    {{3, 5, 4, 3}}),
               Options());
  run.Forward();
  Values expected;
  for (int64_t n = 0; n < 3; ++n) {
    for (int64_t o = 0; o < 7; ++o) {
      double sum = run.parameter_values(1)[o];
      for (int64_t k = 0; k < 60; ++k) {
        sum += double{run.bottom_values(0)[n * 60 + k]} * run.parameter_values(0)[o * 60 + k];
      }
      expected.push_back(static_cast<float>(sum < 0 ? 0 : sum));
    }
  }
  ExpectNear(run.Top(0), expected, 1e-5, "top");
}

TEST_P(ConvolutionTest, RefusesInvalidShapesAndSettings) {
  const auto conv = [](const std::string& fields, Shape bottom = {2, 4, 5, 5}) {
    return Case("type: 'Convolution' convolution_param { " + fields + " }", {bottom});
  };
  ExpectSetUpError(conv("kernel_size: 3"), "num_output");
  ExpectSetUpError(conv("num_output: 2"), "kernel_size");
  ExpectSetUpError(conv("num_output: 2 kernel_size: 6"), "output would be empty");
  ExpectSetUpError(conv("num_output: 2 kernel_size: 3 stride: 0"), "stride");
  ExpectSetUpError(conv("num_output: 4 kernel_size: 3 group: 3"), "group 3");
  ExpectSetUpError(conv("num_output: 4 kernel_size: 3", {2, 4}), "four axes");
  ExpectSetUpError(Case("type: 'InnerProduct'", {{2, 4}}), "num_output");
  ExpectSetUpError(
      Case("type: 'InnerProduct' inner_product_param { num_output: 2 axis: 3 }", {{2, 4}}),
      "axis 3");
}

TEST_P(ConvolutionTest, ASinglePadLeavesTheOtherAxisWithout) {
  const auto top = [&](const std::string& pad) {
    const std::string convolution =
        "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 3 " + pad + " }";
    return LayerRun(Case(convolution, {{1, 2, 5, 6}}), Options()).layer().tops()[0];
  };
  EXPECT_EQ(top("pad_h: 1"), (Shape{1, 2, 5, 4}));
  EXPECT_EQ(top("pad_w: 1"), (Shape{1, 2, 3, 6}));
}

TEST_P(ConvolutionTest, ADepthwiseConvolutionHasAFilterPerChannel) {
  ExpectSetUpError(Case("type: 'Convolution' fusion { depthwise: true } convolution_param { "
                        "num_output: 8 group: 8 kernel_size: 3 }",
                        {{1, 16, 5, 5}}),
                   "one filter per input channel: num_output is 8, must be 16");
}

GF_FOR_EVERY_DEVICE(ConvolutionTest);

// Why this processor does not choose between types for convolutions in BF16; empty: it does.
std::string NoChoiceInBF16() {
  const auto device = DeviceRegistry::Get().Create("device", "cpu", 1);
  if (!device->Supports(DType::kBF16)) return "no BF16 on this processor";
  if (DnnlHas(dnnl::cpu_isa::avx512_core_amx)) return "this processor has AMX";
  if (!BF16IsFast()) return "this processor computes all BF16 convolutions in FP32";
  return "";
}

TEST(ConvolutionChoice, IsFP32WhereBF16HasNoGradientOfTheFilters) {
  if (const std::string why = NoChoiceInBF16(); !why.empty()) GTEST_SKIP() << why;
  for (const bool backward : {true, false}) {
    for (const Shape& images : {Shape{16, 3, 32, 32}, Shape{16, 1, 28, 28}}) {
      const std::string how =
          HowOnTheCpu("num_output: 24 kernel_size: 2", images, backward, DType::kBF16);
      EXPECT_EQ(how.find("bf16"), std::string::npos) << how;
      EXPECT_EQ(how.find("gemm:"), std::string::npos) << how;
    }
  }
  const std::string wide =
      HowOnTheCpu("num_output: 32 kernel_size: 2", {16, 32, 32, 32}, true, DType::kBF16);
  EXPECT_NE(wide.find("bf16"), std::string::npos) << wide;
}

}  // namespace
}  // namespace gf

// Depthwise convolutions by the project's own kernels, and which implementation is chosen.

#include "layers/depthwise.h"

#include <array>

#include "tests/layers/convolution_reference.h"
#include "tests/layers/device_test.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/how_on_the_cpu.h"

namespace gf {
namespace {

// Sets the implementation of the kernels that are built for as long as it lives.
class Way {
 public:
  explicit Way(DepthwiseWay way) { WayOfDepthwise() = way; }
  ~Way() { WayOfDepthwise() = DepthwiseWay::kFaster; }
};

struct Depthwise {
  Shape in;
  std::array<int64_t, 2> kernel, stride = {1, 1}, pad = {0, 0}, dilation = {1, 1};
  int64_t multiplier = 1;
  bool bias = true, relu = false;

  std::string Prototxt() const {
    return StrCat("type: 'Convolution' convolution_param { num_output: ", in[1] * multiplier,
                  " kernel_h: ", kernel[0], " kernel_w: ", kernel[1], " stride_h: ", stride[0],
                  " stride_w: ", stride[1], " pad_h: ", pad[0], " pad_w: ", pad[1], " dilation: [",
                  dilation[0], ", ", dilation[1], "] group: ", in[1],
                  " bias_term: ", bias ? "true" : "false",
                  " } fusion { relu: ", relu ? "true" : "false", " }");
  }
};

// Channels without and with whole vectors, several filters per channel, rows of one to seven taps,
// strides with gaps between windows, borders wider than a filter, and images smaller than one.
const Depthwise kCases[] = {
    {.in = {2, 16, 7, 6}, .kernel = {3, 3}, .pad = {1, 1}},
    {.in = {2, 32, 9, 8}, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .relu = true},
    {.in = {1, 17, 19, 21}, .kernel = {3, 3}, .pad = {1, 1}, .bias = false},
    {.in = {3, 33, 6, 5}, .kernel = {5, 5}, .stride = {2, 1}, .pad = {2, 3}},
    {.in = {1, 24, 9, 11}, .kernel = {7, 7}, .pad = {3, 3}, .relu = true},
    {.in = {2, 3, 11, 10}, .kernel = {5, 5}, .stride = {3, 3}, .pad = {1, 2}},
    {.in = {2, 1, 8, 9}, .kernel = {3, 3}, .pad = {1, 1}, .multiplier = 3},
    {.in = {1, 16, 12, 13}, .kernel = {3, 3}, .pad = {2, 2}, .dilation = {2, 2}},
    {.in = {2, 8, 10, 9}, .kernel = {3, 5}, .stride = {2, 3}, .pad = {3, 2}, .dilation = {2, 2}},
    {.in = {2, 40, 5, 9}, .kernel = {1, 7}, .pad = {0, 3}},
    {.in = {2, 19, 5, 5}, .kernel = {1, 1}, .stride = {2, 2}, .multiplier = 2},
    {.in = {2, 16, 6, 7}, .kernel = {3, 3}, .pad = {1, 1}, .multiplier = 2, .relu = true},
    {.in = {1, 17, 7, 5}, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .multiplier = 3},
    {.in = {1, 16, 2, 1}, .kernel = {5, 5}, .pad = {2, 2}},
    {.in = {2, 35, 1, 1}, .kernel = {3, 3}, .pad = {3, 3}, .bias = false},
    {.in = {1, 8, 9, 9}, .kernel = {2, 2}, .stride = {3, 3}},
    {.in = {1, 64, 13, 40}, .kernel = {3, 3}, .stride = {1, 2}, .pad = {1, 0}},
    {.in = {1, 5, 6, 20}, .kernel = {2, 12}, .pad = {1, 3}},
};

ConvolutionResults Reference(const Depthwise& conv, const LayerRun& run) {
  const Shape& in = conv.in;
  // Calls f(input, weight) for the taps of a result that exist.
  const auto for_taps = [&](int64_t n, int64_t o, int64_t h, int64_t v, const auto& f) {
    for (int64_t i = 0; i < conv.kernel[0]; ++i) {
      for (int64_t j = 0; j < conv.kernel[1]; ++j) {
        const int64_t r = h * conv.stride[0] - conv.pad[0] + i * conv.dilation[0];
        const int64_t s = v * conv.stride[1] - conv.pad[1] + j * conv.dilation[1];
        if (r < 0 || r >= in[2] || s < 0 || s >= in[3]) continue;
        f(((n * in[1] + o / conv.multiplier) * in[2] + r) * in[3] + s,
          (o * conv.kernel[0] + i) * conv.kernel[1] + j);
      }
    }
  };
  return ConvolutionReference(run, conv.bias, conv.relu, for_taps);
}

class DepthwiseTest : public DeviceTest {
 protected:
  // Of bottoms; "blocked" and "nhwc" are one on GPUs.
  std::vector<std::string> Formats() const {
    if (GetParam() == "cuda") return {"plain", "nhwc"};
    return {"plain", "blocked", "nhwc"};
  }
  LayerCase CaseOf(const Depthwise& conv) const { return Case(conv.Prototxt(), {conv.in}); }
};

TEST_P(DepthwiseTest, MatchesItsDefinitionInEveryLayout) {
  const Way own(DepthwiseWay::kOwn);
  for (const std::string& format : Formats()) {
    for (const Depthwise& conv : kCases) {
      SCOPED_TRACE(StrCat(format, ", ", conv.in.ToString(), ", ", conv.Prototxt()));
      RunOptions options = Options();
      options.format = format;
      LayerRun run(CaseOf(conv), options);
      const ConvolutionResults expected = Reference(conv, run),
                               found = RunConvolution(&run, conv.bias);
      ExpectNear(found.top, expected.top, 1e-5, "top");
      ExpectNear(found.bottom_diff, expected.bottom_diff, 1e-5, "gradient of the bottom");
      ExpectNear(found.weight_diff, expected.weight_diff, 1e-5, "gradient of the filters");
      ExpectNear(found.bias_diff, expected.bias_diff, 1e-5, "gradient of the bias");
      EXPECT_EQ(run.GradientPadding(), 0);
      options.backward = false;
      LayerRun inference(CaseOf(conv), options);
      inference.Forward();
      EXPECT_EQ(inference.TopPadding(), 0);
      ExpectNear(inference.Top(0), expected.top, 1e-5, "top of inference");
    }
  }
}

TEST_P(DepthwiseTest, HalfPrecisionRoundsResultsOnly) {
  const Way own(DepthwiseWay::kOwn);
  const auto device = DeviceRegistry::Get().Create("device", GetParam(), 0);
  for (const DType type : {DType::kBF16, DType::kFP16}) {
    if (!device->Supports(type)) continue;
    // Half a unit in the last place. Inputs are exact in both types.
    const double tolerance = type == DType::kBF16 ? 0x1p-8 : 0x1p-11;
    for (const std::string& format : Formats()) {
      for (Depthwise conv : kCases) {
        conv.relu = false;  // whose gradient follows the rounded top
        SCOPED_TRACE(StrCat(Name(type), ", ", format, ", ", conv.Prototxt()));
        RunOptions options = Options();
        options.format = format;
        options.compute = type;
        LayerRun run(CaseOf(conv), options);
        const ConvolutionResults expected = Reference(conv, run),
                                 found = RunConvolution(&run, conv.bias);
        EXPECT_LE(RelativeError(found.top, expected.top), tolerance);
        EXPECT_LE(RelativeError(found.bottom_diff, expected.bottom_diff), tolerance);
        EXPECT_LE(RelativeError(found.weight_diff, expected.weight_diff), tolerance);
        EXPECT_LE(RelativeError(found.bias_diff, expected.bias_diff), tolerance);
      }
    }
  }
}

TEST_P(DepthwiseTest, GradientsMatchFiniteDifferences) {
  const Way own(DepthwiseWay::kOwn);
  for (const int i : {1, 3, 8, 12}) {
    const Depthwise& conv = kCases[i];
    LayerCase test = CaseOf(conv);
    test.name = conv.Prototxt();
    test.linear = !conv.relu;
    GradientCheck check;
    check.samples = 8;
    ExpectGradients(test, Options(), check);
  }
}

TEST_P(DepthwiseTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const Way own(DepthwiseWay::kOwn);
  for (const Depthwise& conv : kCases) {
    RunOptions options = Options();
    options.format = "blocked";
    ConvolutionResults first;
    for (const int threads : {1, 2, 5}) {
      options.threads = threads;
      LayerRun run(CaseOf(conv), options);
      const ConvolutionResults found = RunConvolution(&run, conv.bias);
      if (threads == 1) first = found;
      EXPECT_EQ(found.top, first.top);
      EXPECT_EQ(found.bottom_diff, first.bottom_diff);
      EXPECT_EQ(found.weight_diff, first.weight_diff);
      EXPECT_EQ(found.bias_diff, first.bias_diff);
    }
  }
}

TEST_P(DepthwiseTest, LibrariesGiveTheSameResults) {
  for (const DepthwiseWay way : {DepthwiseWay::kFaster, DepthwiseWay::kLibrary}) {
    const Way set(way);
    for (const Depthwise& conv : kCases) {
      SCOPED_TRACE(conv.Prototxt());
      LayerRun run(CaseOf(conv), Options());
      const ConvolutionResults expected = Reference(conv, run),
                               found = RunConvolution(&run, conv.bias);
      ExpectNear(found.top, expected.top, 1e-4, "top");
      ExpectNear(found.bottom_diff, expected.bottom_diff, 1e-4, "gradient of the bottom");
      ExpectNear(found.weight_diff, expected.weight_diff, 1e-4, "gradient of the filters");
    }
  }
}

GF_FOR_EVERY_DEVICE(DepthwiseTest);

TEST(DepthwiseChoice, OwnKernelsComputeWhatOneDnnHasNoKernelFor) {
  const std::string own = "own depthwise loops";
  const Shape images = {2, 16, 14, 14};
  const auto how = [&](const std::string& fields) { return HowOnTheCpu(fields, images); };
  EXPECT_EQ(how("num_output: 32 group: 16 kernel_size: 3 pad: 1"), own) << "two filters each";
  EXPECT_EQ(how("num_output: 16 group: 16 kernel_size: 3 pad: 2 dilation: 2"), own);
  EXPECT_EQ(how("num_output: 16 group: 16 kernel_size: 7 pad: 3"), own);
  EXPECT_NE(how("num_output: 16 group: 8 kernel_size: 3 pad: 1"), own) << "two channels per group";
  EXPECT_NE(how("num_output: 16 kernel_size: 3 pad: 1"), own) << "one group";
  EXPECT_NE(HowOnTheCpu("num_output: 16 kernel_size: 3 pad: 1", {2, 1, 14, 14}), own)
      << "one channel";
}

TEST(DepthwiseChoice, TheSwitchIsObeyed) {
  const std::string own = "own depthwise loops", fields = "num_output: 16 group: 16 kernel_size: 7";
  for (const bool backward : {false, true}) {
    const Way set(DepthwiseWay::kLibrary);
    EXPECT_NE(HowOnTheCpu(fields, {2, 16, 14, 14}, backward), own);
  }
  for (const bool backward : {false, true}) {
    const Way set(DepthwiseWay::kOwn);
    EXPECT_EQ(HowOnTheCpu(fields, {2, 16, 14, 14}, backward), own);
  }
}

}  // namespace
}  // namespace gf

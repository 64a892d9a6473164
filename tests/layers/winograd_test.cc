// Convolutions by our own kernels for Winograd's algorithm, and where they are chosen.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/cpu/dnnl.h"
#include "core/simd.h"
#include "layers/cpu/dnnl_convolution.h"
#include "layers/cpu/winograd_choice.h"
#include "tests/layers/convolution_reference.h"
#include "tests/layers/device_test.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/how_on_the_cpu.h"

namespace gf {
namespace {

// Sets the implementation of the kernels that are built for as long as it lives.
class Way {
 public:
  explicit Way(WinogradWay way) { WayOfWinograd() = way; }
  ~Way() { WayOfWinograd() = WinogradWay::kFaster; }
};

struct Dense {
  Shape in;
  int64_t outputs;
  int64_t taps = 3;
  std::array<int64_t, 2> pad = {1, 1};
  int64_t stride = 1;
  bool bias = true, relu = false;

  std::string Prototxt() const {
    return StrCat("type: 'Convolution' convolution_param { num_output: ", outputs,
                  " kernel_size: ", taps, " pad_h: ", pad[0], " pad_w: ", pad[1],
                  " stride: ", stride, " bias_term: ", bias ? "true" : "false",
                  " } fusion { relu: ", relu ? "true" : "false", " }");
  }
  LayerCase Case() const {
    LayerCase test;
    test.name = Prototxt();
    test.prototxt = Prototxt();
    test.bottoms = {in};
    return test;
  }
};

// Channels with and without whole vectors and panels, results of a single tile and of tiles of two
// sizes along one axis or both, no borders and wide ones, images smaller than a filter, several
// groups of tiles, filters that do not fit into a core's cache, results that pass the caches by,
// and stride 2 with even and odd sides.
const Dense kCases[] = {
    {.in = {2, 16, 8, 8}, .outputs = 16},
    {.in = {3, 20, 13, 12}, .outputs = 32, .relu = true},
    {.in = {1, 17, 19, 21}, .outputs = 33, .bias = false},
    {.in = {2, 3, 9, 14}, .outputs = 5},
    {.in = {2, 32, 10, 9}, .outputs = 48, .pad = {0, 2}, .relu = true},
    {.in = {1, 1, 1, 1}, .outputs = 1, .pad = {2, 2}},
    {.in = {2, 24, 27, 27}, .outputs = 40, .taps = 5, .pad = {2, 2}, .relu = true},
    {.in = {1, 16, 11, 8}, .outputs = 70, .taps = 5, .pad = {0, 4}, .bias = false},
    {.in = {3, 19, 2, 3}, .outputs = 16, .taps = 5, .pad = {4, 1}},
    {.in = {80, 16, 14, 13}, .outputs = 16},
    {.in = {2, 144, 9, 7}, .outputs = 136},
    {.in = {20, 200, 7, 7}, .outputs = 120, .relu = true},
    {.in = {1, 3, 66, 67}, .outputs = 512},
    {.in = {2, 20, 14, 17}, .outputs = 33, .stride = 2, .relu = true},
    {.in = {1, 16, 1, 4}, .outputs = 16, .stride = 2, .bias = false},
    {.in = {3, 130, 7, 8}, .outputs = 136, .stride = 2},
    {.in = {40, 17, 23, 26}, .outputs = 16, .stride = 2, .bias = false},
    {.in = {40, 16, 2, 1}, .outputs = 16, .stride = 2},
    {.in = {20, 16, 6, 40}, .outputs = 16, .stride = 2},
    {.in = {24, 16, 14, 13}, .outputs = 24, .stride = 2, .relu = true},
};

// Of sums in FP32, relative to their L2 norm: Note [Winograd's algorithm]
// (layers/cpu/winograd_points.h).
constexpr double kRounding = 1e-5;

ConvolutionResults Reference(const Dense& conv, const LayerRun& run) {
  const Shape& in = conv.in;
  const int64_t k = conv.taps;
  // Calls f(input, weight) for the taps of a result that exist.
  const auto for_taps = [&](int64_t n, int64_t o, int64_t h, int64_t v, const auto& f) {
    for (int64_t c = 0; c < in[1]; ++c) {
      for (int64_t i = 0; i < k; ++i) {
        const int64_t r = h * conv.stride - conv.pad[0] + i;
        if (r < 0 || r >= in[2]) continue;
        for (int64_t j = 0; j < k; ++j) {
          const int64_t s = v * conv.stride - conv.pad[1] + j;
          if (s < 0 || s >= in[3]) continue;
          f(((n * in[1] + c) * in[2] + r) * in[3] + s, ((o * in[1] + c) * k + i) * k + j);
        }
      }
    }
  };
  return ConvolutionReference(run, conv.bias, conv.relu, for_taps);
}

class NeedsAvx2 : public testing::Test {
 protected:
  void SetUp() override {
    if (BestIsa() == Isa::kBaseline) GTEST_SKIP() << "this processor has no AVX2";
  }
};

class WinogradTest : public NeedsAvx2 {
  const Way own_{WinogradWay::kOwn};
};

// `tolerance`: of the L2 norm; single values may be ten times as far off.
void ExpectResults(const ConvolutionResults& found, const ConvolutionResults& expected,
                   double tolerance) {
  EXPECT_LE(RelativeError(found.top, expected.top), tolerance);
  EXPECT_LE(RelativeError(found.bottom_diff, expected.bottom_diff), tolerance);
  EXPECT_LE(RelativeError(found.weight_diff, expected.weight_diff), tolerance);
  tolerance *= 10;
  ExpectNear(found.top, expected.top, tolerance, "top");
  ExpectNear(found.bottom_diff, expected.bottom_diff, tolerance, "gradient of the bottom");
  ExpectNear(found.weight_diff, expected.weight_diff, tolerance, "gradient of the filters");
  ExpectNear(found.bias_diff, expected.bias_diff, tolerance, "gradient of the bias");
}

TEST_F(WinogradTest, MatchesItsDefinitionInEveryLayout) {
  for (const Dense& conv : kCases) {
    ConvolutionResults expected;
    for (const char* format : {"plain", "blocked", "blocked8", "nhwc"}) {
      SCOPED_TRACE(StrCat(format, ", ", conv.in.ToString(), ", ", conv.Prototxt()));
      RunOptions options;
      options.format = format;
      LayerRun run(conv.Case(), options);
      if (expected.top.empty()) expected = Reference(conv, run);
      ExpectResults(RunConvolution(&run, conv.bias), expected, kRounding);
      EXPECT_EQ(run.GradientPadding(), 0);
      options.backward = false;
      LayerRun inference(conv.Case(), options);
      inference.Forward();
      EXPECT_EQ(inference.TopPadding(), 0);
      ExpectNear(inference.Top(0), expected.top, 10 * kRounding, "top of inference");
    }
  }
}

TEST_F(WinogradTest, BF16RoundsResultsOnly) {
  if (!DeviceRegistry::Get().Create("device", "cpu", 0)->Supports(DType::kBF16)) {
    GTEST_SKIP() << "no BF16 on this processor";
  }
  for (Dense conv : kCases) {
    conv.relu = false;  // whose gradient follows the rounded top
    SCOPED_TRACE(conv.Prototxt());
    RunOptions options;
    options.compute = DType::kBF16;
    LayerRun run(conv.Case(), options);
    // A bit more than half a unit in the last place. Inputs are exact in both types.
    ExpectResults(RunConvolution(&run, conv.bias), Reference(conv, run), 1.05 * 0x1p-9);
  }
}

TEST_F(WinogradTest, GradientsMatchFiniteDifferences) {
  for (const int i : {0, 2, 7, 8, 14, 15}) {
    LayerCase test = kCases[i].Case();
    test.linear = true;
    GradientCheck check;
    check.samples = 8;
    ExpectGradients(test, RunOptions(), check);
  }
}

TEST_F(WinogradTest, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Dense& conv : kCases) {
    SCOPED_TRACE(conv.Prototxt());
    ConvolutionResults first;
    for (const int threads : {1, 2, 5}) {
      RunOptions options;
      options.threads = threads;
      LayerRun run(conv.Case(), options);
      const ConvolutionResults found = RunConvolution(&run, conv.bias);
      if (threads == 1) first = found;
      EXPECT_EQ(found.top, first.top);
      EXPECT_EQ(found.bottom_diff, first.bottom_diff);
      EXPECT_EQ(found.weight_diff, first.weight_diff);
      EXPECT_EQ(found.bias_diff, first.bias_diff);
    }
  }
}

// Gradients that nobody needs are left out; the others keep their bits.
TEST_F(WinogradTest, ComputesOnlyWhatIsNeeded) {
  for (const int i : {6, 13}) {
    const Dense& conv = kCases[i];
    LayerRun whole(conv.Case(), RunOptions());
    const ConvolutionResults expected = RunConvolution(&whole, conv.bias);
    RunOptions options;
    options.propagate = {false};
    LayerRun first(conv.Case(), options);
    first.Forward();
    first.Backward();
    EXPECT_FALSE(first.HasBottomDiff(0));
    EXPECT_EQ(first.ParameterDiff(0), expected.weight_diff);
    EXPECT_EQ(first.ParameterDiff(1), expected.bias_diff);
  }
}

TEST_F(WinogradTest, InferenceGivesAnImageTheSameBitsInAnyBatch) {
  for (const Dense& conv : {Dense{.in = {9, 24, 26, 15}, .outputs = 40},
                            Dense{.in = {9, 160, 8, 9}, .outputs = 144, .bias = false},
                            Dense{.in = {9, 40, 15, 22}, .outputs = 40, .stride = 2}}) {
    RunOptions options;
    options.backward = false;
    LayerRun many(conv.Case(), options);
    many.Forward();
    Dense single = conv;
    single.in = {1, conv.in[1], conv.in[2], conv.in[3]};
    LayerRun one(single.Case(), options);
    for (int i = 0; i < 1 + conv.bias; ++i) one.SetParameter(i, many.parameter_values(i));
    const Values &images = many.bottom_values(0), results = many.Top(0);
    const size_t image = images.size() / 9, result = results.size() / 9;
    for (const size_t i : {0, 8}) {
      one.SetBottom(0, Values(images.begin() + i * image, images.begin() + (i + 1) * image));
      one.Forward();
      EXPECT_EQ(one.Top(0),
                Values(results.begin() + i * result, results.begin() + (i + 1) * result));
    }
  }
}

class WinogradChoice : public NeedsAvx2 {
 protected:
  static bool Chosen(int outputs, const Shape& images, const std::string& filter,
                     bool backward = true, DType compute = DType::kFP32) {
    return HowOnTheCpu(StrCat("num_output: ", outputs, " ", filter), images, backward, compute) ==
           "own Winograd";
  }
  static constexpr char k3x3[] = "kernel_size: 3 pad: 1", k5x5[] = "kernel_size: 5 pad: 2",
                        kStride2[] = "kernel_size: 3 stride: 2 pad: 1";
};

TEST_F(WinogradChoice, FollowsTheTimeOfADirectConvolution) {
  EXPECT_TRUE(Chosen(64, {16, 64, 56, 56}, k3x3));
  EXPECT_TRUE(Chosen(192, {64, 64, 27, 27}, k5x5));
  EXPECT_TRUE(Chosen(256, {64, 384, 13, 13}, k3x3));
  EXPECT_TRUE(Chosen(16, {128, 16, 32, 32}, k3x3));
  EXPECT_TRUE(Chosen(128, {16, 128, 56, 56}, kStride2));
  EXPECT_FALSE(Chosen(16, {16, 16, 56, 56}, kStride2)) << "few channels";
  EXPECT_TRUE(Chosen(1360, {512, 1360, 14, 14}, kStride2));
  EXPECT_FALSE(Chosen(1376, {512, 1376, 14, 14}, kStride2)) << "more than 256 MiB of filters";
  EXPECT_FALSE(Chosen(16, {128, 3, 32, 32}, k3x3)) << "few channels";
  EXPECT_FALSE(Chosen(256, {64, 256, 1, 1}, k3x3)) << "9 products for a result in a direct one";
  EXPECT_FALSE(Chosen(512, {1, 512, 7, 7}, k3x3)) << "filters are transformed for one image";
  EXPECT_TRUE(Chosen(1024, {512, 1024, 7, 7}, k3x3));
  EXPECT_FALSE(Chosen(1040, {512, 1024, 7, 7}, k3x3)) << "more than 256 MiB of filters";
  for (const char* filter :
       {"kernel_size: 1", "kernel_size: 7 pad: 3", "kernel_size: 3 stride: 2",
        "kernel_size: 3 stride: 2 pad: 2", "kernel_size: 3 stride: 2 pad_h: 1 pad_w: 0",
        "kernel_size: 3 stride: 2 pad: 1 group: 2", "kernel_size: 3 stride: 2 pad: 1 dilation: 2",
        "kernel_size: 3 stride: 3 pad: 1", "kernel_size: 5 stride: 2 pad: 1",
        "kernel_size: 3 stride_h: 2 stride_w: 1 pad: 1", "kernel_size: 3 dilation: 2",
        "kernel_size: 3 group: 2", "kernel_h: 3 kernel_w: 5", "kernel_size: 3 pad: 3"}) {
    EXPECT_FALSE(Chosen(64, {16, 64, 56, 56}, filter)) << filter;
  }
}

TEST_F(WinogradChoice, IgnoresTheBatchWithoutBackward) {
  for (const int batch : {1, 64}) {
    EXPECT_TRUE(Chosen(64, {batch, 64, 56, 56}, k3x3, false));
    EXPECT_TRUE(Chosen(256, {batch, 256, 14, 14}, k3x3, false));
    EXPECT_FALSE(Chosen(512, {batch, 512, 7, 7}, k3x3, false));
    EXPECT_FALSE(Chosen(257, {batch, 256, 56, 56}, k3x3, false)) << "more than 16 MiB are kept";
  }
}

TEST_F(WinogradChoice, TheSwitchIsObeyed) {
  {
    const Way set(WinogradWay::kLibrary);
    EXPECT_FALSE(Chosen(64, {16, 64, 56, 56}, k3x3));
  }
  const Way set(WinogradWay::kOwn);
  EXPECT_TRUE(Chosen(5, {1, 3, 4, 4}, k3x3, false));
}

TEST_F(WinogradChoice, IsRarerWhereBF16IsFast) {
  const auto device = DeviceRegistry::Get().Create("device", "cpu", 1);
  if (!device->Supports(DType::kBF16)) GTEST_SKIP() << "no BF16 on this processor";
  const bool with_amx = DnnlHas(dnnl::cpu_isa::avx512_core_amx);
  if (with_amx || !BF16IsFast()) {
    EXPECT_NE(Chosen(192, {64, 64, 27, 27}, k5x5, true, DType::kBF16), with_amx);
    return;
  }
  EXPECT_TRUE(Chosen(192, {64, 64, 27, 27}, k5x5, true, DType::kBF16));
  EXPECT_TRUE(Chosen(128, {16, 128, 28, 28}, k3x3, true, DType::kBF16));
  EXPECT_FALSE(Chosen(16, {128, 16, 32, 32}, k3x3, true, DType::kBF16));
  EXPECT_FALSE(Chosen(512, {8, 512, 7, 7}, k3x3, true, DType::kBF16));
  EXPECT_FALSE(Chosen(128, {16, 128, 56, 56}, kStride2, true, DType::kBF16));
}

}  // namespace
}  // namespace gf

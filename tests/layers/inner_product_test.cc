// InnerProducts large enough for kernels of their own (Note [Thin products]), by their definition.

#include "tests/layers/device_test.h"

namespace gf {
namespace {

// Numbers that have more than one block of columns and no whole number of groups of rows.
constexpr int64_t kInputs = 1056, kOutputs = 1001;

struct Reference {
  std::vector<double> top, bottom_diff, weight_diff, bias_diff;
};

Reference Compute(const LayerRun& run, int64_t images, bool bias, bool relu, const Values& top) {
  const Values &x = run.bottom_values(0), &w = run.parameter_values(0);
  Reference r;
  r.top.resize(images * kOutputs);
  r.bottom_diff.resize(images * kInputs);
  r.weight_diff.resize(kInputs * kOutputs);
  r.bias_diff.resize(kOutputs);
  for (int64_t m = 0; m < images; ++m) {
    for (int64_t n = 0; n < kOutputs; ++n) {
      double sum = bias ? run.parameter_values(1)[n] : 0;
      for (int64_t k = 0; k < kInputs; ++k) sum += double{x[m * kInputs + k]} * w[n * kInputs + k];
      const int64_t at = m * kOutputs + n;
      r.top[at] = relu && sum < 0 ? 0 : sum;
      const double dy = relu && !(top[at] > 0) ? 0 : run.top_diff_values(0)[at];
      r.bias_diff[n] += dy;
      for (int64_t k = 0; k < kInputs; ++k) {
        r.weight_diff[n * kInputs + k] += dy * x[m * kInputs + k];
        r.bottom_diff[m * kInputs + k] += dy * w[n * kInputs + k];
      }
    }
  }
  return r;
}

void ExpectEqual(const Values& values, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ExpectNear(values, Values(expected.begin(), expected.end()), tolerance, what);
}

class InnerProductTest : public DeviceTest {
 protected:
  void Compare(int64_t images, bool bias, bool relu, DType compute, int threads) {
    RunOptions options = Options();
    options.compute = compute;
    options.threads = threads;
    const LayerCase test =
        Case(StrCat("type: 'InnerProduct' inner_product_param { num_output: ", kOutputs,
                    " bias_term: ", bias ? "true" : "false",
                    " } fusion { relu: ", relu ? "true" : "false", " }"),
             {{images, kInputs}});
    LayerRun run(test, options);
    run.Forward();
    const Values top = run.Top(0);
    run.Backward();
    const Reference expected = Compute(run, images, bias, relu, top);
    // BF16 keeps 8 bits of inputs and results alike.
    const double tolerance = compute == DType::kFP32 ? 2e-5 : 2e-2;
    const std::string what = StrCat(images, " images, ", Name(compute), ": ");
    ExpectEqual(top, expected.top, tolerance, what + "top");
    ExpectEqual(run.ParameterDiff(0), expected.weight_diff, tolerance, what + "weight");
    ExpectEqual(run.BottomDiff(0), expected.bottom_diff, tolerance, what + "bottom");
    if (bias) ExpectEqual(run.ParameterDiff(1), expected.bias_diff, tolerance, what + "bias");
  }
};

TEST_P(InnerProductTest, FewImagesMatchTheDefinition) {
  for (int64_t images : {1, 7, 8, 13, 16, 17}) Compare(images, true, true, DType::kFP32, 2);
}

TEST_P(InnerProductTest, WithoutBiasAndReluAndOnOtherThreads) {
  Compare(3, false, false, DType::kFP32, 1);
  Compare(11, false, false, DType::kFP32, 3);
}

TEST_P(InnerProductTest, InBF16) {
  for (int64_t images : {5, 16}) Compare(images, true, true, DType::kBF16, 2);
}

TEST_P(InnerProductTest, AnUnneededBottomGradientIsLeftOut) {
  RunOptions options = Options();
  options.propagate = {false};
  LayerRun run(
      Case(StrCat("type: 'InnerProduct' inner_product_param { num_output: ", kOutputs, " }"),
           {{4, kInputs}}),
      options);
  run.Forward();
  const Values top = run.Top(0);
  run.Backward();
  EXPECT_FALSE(run.HasBottomDiff(0));
  const Reference expected = Compute(run, 4, true, false, top);
  ExpectEqual(run.ParameterDiff(0), expected.weight_diff, 2e-5, "weight");
}

GF_FOR_EVERY_DEVICE(InnerProductTest);

}  // namespace
}  // namespace gf

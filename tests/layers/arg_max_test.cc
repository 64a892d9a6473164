#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

class ArgMaxTest : public DeviceTest {
 protected:
  static LayerCase ArgMax(const std::string& fields, const Shape& bottom) {
    return Case("type: 'ArgMax' argmax_param { " + fields + " }", {bottom});
  }
  static Shape TopShape(const LayerCase& test) { return MakeLayer(test)->tops()[0]; }
};

const Values kScores = {1, 3, 2,  //
                        5, 4, 6};

TEST_P(ArgMaxTest, RanksTheNumbersOfASample) {
  EXPECT_EQ(Top(ArgMax("", {2, 3}), {kScores}), (Values{1, 2}));
  EXPECT_EQ(Top(ArgMax("top_k: 2", {2, 3}), {kScores}), (Values{1, 2, 2, 0}));
  EXPECT_EQ(Top(ArgMax("top_k: 3 out_max_val: true", {2, 3}), {kScores}),
            (Values{1, 2, 0, 3, 2, 1, 2, 0, 1, 6, 5, 4}));
  EXPECT_EQ(Top(ArgMax("", {1, 2, 3}), {kScores}), (Values{5}));
}

TEST_P(ArgMaxTest, RanksAlongAnAxis) {
  EXPECT_EQ(Top(ArgMax("axis: 1", {2, 3}), {kScores}), (Values{1, 2}));
  EXPECT_EQ(Top(ArgMax("axis: -1 out_max_val: true", {2, 3}), {kScores}), (Values{3, 6}));
  EXPECT_EQ(Top(ArgMax("axis: 0", {2, 3}), {kScores}), (Values{1, 1, 1}));
  EXPECT_EQ(Top(ArgMax("axis: 1 top_k: 2", {1, 3, 2}), {kScores}), (Values{2, 2, 1, 1}));
  EXPECT_EQ(Top(ArgMax("axis: 1 top_k: 2 out_max_val: true", {1, 3, 2}), {kScores}),
            (Values{4, 6, 2, 5}));
}

TEST_P(ArgMaxTest, ShapesAreCaffes) {
  EXPECT_EQ(TopShape(ArgMax("", {2, 9})), (Shape{2, 1, 1}));
  EXPECT_EQ(TopShape(ArgMax("top_k: 5 out_max_val: true", {2, 9})), (Shape{2, 2, 5}));
  EXPECT_EQ(TopShape(ArgMax("top_k: 5", {2, 9, 4, 3})), (Shape{2, 1, 5, 1}));
  EXPECT_EQ(TopShape(ArgMax("axis: 1 top_k: 5", {2, 9, 4, 3})), (Shape{2, 5, 4, 3}));
  EXPECT_EQ(TopShape(ArgMax("axis: -1 out_max_val: true", {2, 9})), (Shape{2, 1}));
}

TEST_P(ArgMaxTest, TheLowerIndexWinsATieAndNanIsTheHighest) {
  EXPECT_EQ(Top(ArgMax("top_k: 3", {1, 4}), {Values{0.5f, 1, 1, 0.5f}}), (Values{1, 2, 0}));
  EXPECT_EQ(Top(ArgMax("top_k: 4", {1, 4}), {Values{-0.f, 0, -1, -0.f}}), (Values{0, 1, 3, 2}));
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Values special = {infinity, nan, -infinity, -nan, -3, 0};
  EXPECT_EQ(Top(ArgMax("top_k: 6", {1, 6}), {special}), (Values{1, 3, 0, 5, 4, 2}));
}

TEST_P(ArgMaxTest, AgreesWithASortInEveryTypeAndLayout) {
  const Shape shape = {2, 37, 3, 5};
  constexpr int64_t kClasses = 37, kInner = 15, kTop = 4;
  const auto device = DeviceRegistry::Get().Create("device", GetParam(), 2);
  for (DType compute : {DType::kFP32, DType::kBF16, DType::kFP16}) {
    if (!device->Supports(compute)) continue;
    for (const char* format : {"plain", "blocked"}) {
      RunOptions options = Options();
      options.compute = compute;
      options.format = format;
      LayerRun run(ArgMax("axis: 1 top_k: 4", shape), options);
      run.Forward();
      const Values& x = run.bottom_values(0);
      const Values top = run.Top(0);
      for (int64_t i = 0; i < 2 * kInner; ++i) {
        const int64_t start = i / kInner * kClasses * kInner + i % kInner;
        std::vector<int64_t> classes(kClasses);
        std::iota(classes.begin(), classes.end(), 0);
        std::stable_sort(classes.begin(), classes.end(), [&](int64_t a, int64_t b) {
          return x[start + a * kInner] > x[start + b * kInner];
        });
        for (int64_t k = 0; k < kTop; ++k) {
          EXPECT_EQ(top[(i / kInner * kTop + k) * kInner + i % kInner],
                    static_cast<float>(classes[k]))
              << Name(compute) << ", " << format << ", " << i << ", " << k;
        }
      }
    }
  }
}

// More numbers than BF16 and FP16 count, and than a block of a GPU has threads.
TEST_P(ArgMaxTest, LargeIndicesAreExact) {
  constexpr int64_t kCount = 70001;
  Values x(2 * kCount);
  x[69999] = 2;
  x[kCount + 65537] = 2;
  const auto device = DeviceRegistry::Get().Create("device", GetParam(), 2);
  for (DType compute : {DType::kFP32, DType::kBF16, DType::kFP16}) {
    if (!device->Supports(compute)) continue;
    RunOptions options = Options();
    options.compute = compute;
    LayerRun run(ArgMax("", {2, kCount}), options);
    run.SetBottom(0, x);
    run.Forward();
    EXPECT_EQ(run.Top(0), (Values{69999, 65537})) << Name(compute);
  }
}

TEST_P(ArgMaxTest, HasNoGradient) {
  EXPECT_FALSE(LayerRun(ArgMax("", {2, 3}), Options()).HasBottomDiff(0));
}

TEST_P(ArgMaxTest, RefusesWhatDoesNotFit) {
  ExpectSetUpError(ArgMax("top_k: 0", {2, 3}), "argmax_param.top_k is 0, must be in 1..3");
  ExpectSetUpError(ArgMax("top_k: 7", {2, 2, 3}), "argmax_param.top_k is 7, must be in 1..6");
  ExpectSetUpError(ArgMax("axis: 1 top_k: 4", {2, 3, 9}), "must be in 1..3");
  ExpectSetUpError(ArgMax("axis: 2", {2, 3}), "axis 2 is out of range");
  ExpectSetUpError(ArgMax("", {1, 16777217}),
                   "would rank 16777217 values, expected at most 16777216");
}

GF_FOR_EVERY_DEVICE(ArgMaxTest);

}  // namespace
}  // namespace gf

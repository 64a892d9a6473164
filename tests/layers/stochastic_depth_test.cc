#include <algorithm>
#include <limits>
#include <set>

#include "core/random.h"
#include "tests/layers/device_test.h"
#include "tests/layers/own_draws.h"

namespace gf {
namespace {

constexpr int64_t kImages = 301, kElements = 2 * 19 * 3;

std::string Type(const std::string& settings) {
  return "type: 'StochasticDepth' stochastic_depth_param { " + settings + " }";
}

class StochasticDepthTest : public DeviceTest {
 protected:
  // The factor by which Forward multiplies image 0 in the batch `sequence`.
  float FirstFactor(const LayerCase& test, uint64_t sequence) const {
    RunOptions options = Options();
    options.sequence = sequence;
    LayerRun run(test, options);
    run.SetBottom(0, Values(test.bottoms[0].count(), 1));
    run.Forward();
    return run.Top(0)[0];
  }
};

TEST_P(StochasticDepthTest, DropsImagesAsPhiloxOfSeedLayerStepAndImageSays) {
  const LayerCase test = Case(Type("drop_ratio: 0.4"), {{kImages, 19, 2, 3}});
  RunOptions options = Options();
  options.seed = 0x123456789abcdef0u;
  options.layer_index = 11;
  options.sequence = uint64_t{1} << 33;
  const uint64_t stream = StreamId(RandomUse::kDropout, 11, options.sequence);
  for (const char* format : {"plain", "blocked", "nhwc"}) {
    SCOPED_TRACE(format);
    options.format = format;
    LayerRun run(test, options);
    run.Forward();
    const Values actual = run.Top(0);
    run.Backward();
    Values top, gradient;
    for (int64_t i = 0; i < kImages * kElements; ++i) {
      const int64_t image = i / kElements;
      const uint32_t word = Philox(options.seed, stream, image / 4)[image % 4];
      const float factor = ToUniform(word) >= 0.4f ? 1 / (1 - 0.4f) : 0;
      top.push_back(factor * run.bottom_values(0)[i]);
      gradient.push_back(factor * run.top_diff_values(0)[i]);
    }
    ExpectNear(actual, top, 1e-6, "top");
    ExpectNear(run.BottomDiff(0), gradient, 1e-6, "gradient");
  }
}

TEST_P(StochasticDepthTest, DropsTheRequestedFractionAndKeepsTheMean) {
  constexpr int64_t kCount = 50000;
  for (float ratio : {0.1f, 0.5f, 0.9f}) {
    const Values top =
        Top(Case(Type(StrCat("drop_ratio: ", ratio)), {{kCount, 2}}), {Values(2 * kCount, 1)});
    int64_t dropped = 0;
    double sum = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(top[2 * i], top[2 * i + 1]) << "image " << i;
      dropped += top[2 * i] == 0;
      sum += top[2 * i];
    }
    EXPECT_NEAR(static_cast<double>(dropped) / kCount, ratio, 0.01);
    EXPECT_NEAR(sum / kCount, 1, 0.1 * ratio);
  }
}

TEST_P(StochasticDepthTest, ModeBatchDropsAllImagesOrNone) {
  const LayerCase test = Case(Type("drop_ratio: 0.25 mode: BATCH"), {{7, 5, 3}});
  constexpr int kSteps = 300;
  int dropped = 0;
  for (uint64_t step = 0; step < kSteps; ++step) dropped += FirstFactor(test, step) == 0;
  EXPECT_NEAR(static_cast<double>(dropped) / kSteps, 0.25, 0.1);

  std::set<float> factors;
  RunOptions options = Options();
  for (options.sequence = 0; options.sequence < 20; ++options.sequence) {
    LayerRun run(test, options);
    run.Forward();
    const Values actual = run.Top(0);
    run.Backward();
    const float factor = FirstFactor(test, options.sequence);
    factors.insert(factor);
    Values top = run.bottom_values(0), gradient = run.top_diff_values(0);
    for (Values* values : {&top, &gradient}) {
      for (float& value : *values) value *= factor;
    }
    ExpectNear(actual, top, 1e-6, "top");
    ExpectNear(run.BottomDiff(0), gradient, 1e-6, "gradient");
  }
  EXPECT_EQ(factors.size(), 2u);
}

TEST_P(StochasticDepthTest, EachStepAndLayerHasItsOwnImages) {
  ExpectOwnDraws(Case(Type(""), {{1000, 3}}), Options());
}

TEST_P(StochasticDepthTest, DroppedImagesBecomeZeroWhateverTheyHold) {
  const float infinity = std::numeric_limits<float>::infinity();
  Values top = Top(Case(Type(""), {{100, 16}}), {Values(1600, infinity)});
  std::sort(top.begin(), top.end());
  EXPECT_EQ(top.front(), 0);
  EXPECT_EQ(top.back(), infinity);
}

TEST_P(StochasticDepthTest, DoesNothingInPhaseTestOrWithoutARatio) {
  LayerCase test = Case(Type("drop_ratio: 0"), {{3, 5}});
  const Values x = RandomValues(15, 3);
  EXPECT_EQ(Top(test, {x}), x);
  for (const char* mode : {"ROW", "BATCH"}) {
    test = Case(Type(StrCat("drop_ratio: 0.9 mode: ", mode)), {{3, 5}});
    test.phase = TEST;
    EXPECT_EQ(Top(test, {x}), x) << mode;
  }
}

TEST(StochasticDepth, RefusesRatiosOutsideZeroToOne) {
  LayerCase test;
  test.bottoms = {{4}};
  for (const char* ratio : {"1", "-0.1", "1.5", "nan"}) {
    test.prototxt = Type(StrCat("drop_ratio: ", ratio));
    ExpectSetUpError(test, "stochastic_depth_param.drop_ratio");
  }
}

TEST(StochasticDepth, RefusesABottomWithoutImages) {
  LayerCase test;
  test.bottoms = {Shape()};
  test.prototxt = Type("");
  ExpectSetUpError(test, "a bottom with 0 axes");
}

GF_FOR_EVERY_DEVICE(StochasticDepthTest);

}  // namespace
}  // namespace gf

#include "core/random.h"
#include "tests/layers/device_test.h"
#include "tests/layers/own_draws.h"

namespace gf {
namespace {

using DropoutTest = DeviceTest;

TEST_P(DropoutTest, KeepsWhatPhiloxOfSeedLayerStepAndElementSays) {
  const int64_t count = 40003;
  LayerCase test = Case("type: 'Dropout' dropout_param { dropout_ratio: 0.4 }", {{count}});
  RunOptions options = Options();
  options.seed = 0x123456789abcdef0u;
  options.layer_index = 11;
  options.sequence = uint64_t{1} << 33;
  LayerRun run(test, options);
  run.SetBottom(0, Values(count, 3));
  run.Forward();
  const uint64_t stream = StreamId(RandomUse::kDropout, 11, options.sequence);
  Values expected;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = Philox(options.seed, stream, i / 4)[i % 4];
    expected.push_back(ToUniform(word) >= 0.4f ? 3 / (1 - 0.4f) : 0);
  }
  ExpectNear(run.Top(0), expected, 1e-6, "top");
}

TEST_P(DropoutTest, KeepsTheRequestedFraction) {
  for (float ratio : {0.1f, 0.5f, 0.9f}) {
    const Values top = Top(
        Case(StrCat("type: 'Dropout' dropout_param { dropout_ratio: ", ratio, " }"), {{100000}}),
        {Values(100000, 1)});
    int dropped = 0;
    for (float value : top) dropped += value == 0;
    EXPECT_NEAR(dropped / 100000.0, ratio, 0.006);
  }
}

TEST_P(DropoutTest, EachStepHasItsOwnMask) {
  ExpectOwnDraws(Case("type: 'Dropout'", {{1000}}), Options());
}

TEST_P(DropoutTest, DoesNothingInPhaseTest) {
  LayerCase test = Case("type: 'Dropout'", {{3, 5}});
  test.phase = TEST;
  const Values x = RandomValues(15, 3);
  EXPECT_EQ(Top(test, {x}), x);
}

TEST(Dropout, RefusesRatiosOutsideZeroToOne) {
  LayerCase test;
  test.bottoms = {{4}};
  for (const char* ratio : {"1", "-0.1", "1.5", "nan"}) {
    test.prototxt = StrCat("type: 'Dropout' dropout_param { dropout_ratio: ", ratio, " }");
    ExpectSetUpError(test, "dropout_ratio");
  }
}

GF_FOR_EVERY_DEVICE(DropoutTest);

}  // namespace
}  // namespace gf

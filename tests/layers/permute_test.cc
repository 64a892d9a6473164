#include "layers/permute.h"

#include <numeric>

#include "tests/layers/device_test.h"

namespace gf {
namespace {

using PermuteTest = DeviceTest;

TEST_P(PermuteTest, AxesChangePlaces) {
  const Values bottom = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Top(Case("type: 'Permute' permute_param { order: [1, 0] }", {{2, 3}}), {bottom}),
            (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Top(Case("type: 'Permute' permute_param { order: 2 }", {{1, 2, 3}}), {bottom}),
            (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Top(Case("type: 'Permute'", {{1, 2, 3}}), {bottom}), bottom);
}

TEST_P(PermuteTest, EveryOrderOfFourAxes) {
  const Shape shape = {2, 3, 4, 5};
  Values bottom(shape.count());
  std::iota(bottom.begin(), bottom.end(), 0.f);
  std::vector<int> order = {0, 1, 2, 3};
  do {
    const std::string param =
        StrCat("order: [", order[0], ", ", order[1], ", ", order[2], ", ", order[3], "]");
    LayerRun run(Case("type: 'Permute' permute_param { " + param + " }", {shape}), Options());
    run.SetBottom(0, bottom);
    run.Forward();
    Values expected;
    int64_t at[4], extents[4];
    for (int i = 0; i < 4; ++i) extents[i] = shape[order[i]];
    for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
      for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
        for (at[2] = 0; at[2] < extents[2]; ++at[2]) {
          for (at[3] = 0; at[3] < extents[3]; ++at[3]) {
            int64_t index[4];
            for (int i = 0; i < 4; ++i) index[order[i]] = at[i];
            expected.push_back(
                static_cast<float>(((index[0] * 3 + index[1]) * 4 + index[2]) * 5 + index[3]));
          }
        }
      }
    }
    EXPECT_EQ(run.Top(0), expected) << param;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run.layer().tops()[0][i], extents[i]) << param;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(PermuteTest, ChannelsAreShuffled) {
  const Values bottom = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51};
  EXPECT_EQ(Top(Case("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", {{1, 6, 1, 2}}),
                {bottom}),
            (Values{0, 1, 30, 31, 10, 11, 40, 41, 20, 21, 50, 51}));
}

TEST_P(PermuteTest, ShufflesChannelsInEveryLayout) {
  const LayerCase test =
      Case("type: 'ShuffleChannel' shuffle_channel_param { group: 3 }", {{2, 48, 3, 5}});
  Values expected;
  for (const char* format : {"plain", "blocked", "nhwc"}) {
    RunOptions options = Options();
    options.format = format;
    LayerRun run(test, options);
    run.Forward();
    if (expected.empty()) expected = run.Top(0);
    EXPECT_EQ(run.Top(0), expected) << format;
    EXPECT_EQ(run.setup().tops[0].layout, run.setup().bottoms[0].layout);
  }
}

TEST_P(PermuteTest, RefusesWhatDoesNotFit) {
  ExpectSetUpError(Case("type: 'Permute' permute_param { order: 2 }", {{2, 3}}),
                   "axis 2 is out of range for a bottom with 2 axes");
  ExpectSetUpError(Case("type: 'Permute' permute_param { order: [1, 1] }", {{2, 3}}),
                   "names axis 1 twice");
  for (const char* group : {"0", "4"}) {
    ExpectSetUpError(
        Case(StrCat("type: 'ShuffleChannel' shuffle_channel_param { group: ", group, " }"),
             {{2, 6, 3, 3}}),
        StrCat("group is ", group, ", must divide the 6 channels"));
  }
  ExpectSetUpError(Case("type: 'ShuffleChannel'", {{6}}), "expects a bottom N x C x ..., got 6");
}

std::string Text(const AxisOrder& permutation) {
  std::string text;
  for (const int64_t dim : permutation.dims) text += StrCat(dim, " ");
  for (const int axis : permutation.order) text += StrCat("/", axis);
  return text;
}

TEST(PermutationTest, HasAsFewAxesAsPossible) {
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {0, 1, 2, 3}})), "120 /0");
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {0, 2, 3, 1}})), "2 3 20 /0/2/1");
  EXPECT_EQ(Text(Simplified({{2, 3, 4, 5}, {2, 3, 0, 1}})), "6 20 /1/0");
  EXPECT_EQ(Text(Simplified({{2, 1, 4, 5}, {0, 2, 1, 3}})), "40 /0");
  EXPECT_EQ(Text(Simplified({{1, 2, 4, 1}, {2, 3, 0, 1}})), "2 4 /1/0");
  EXPECT_EQ(Text(Simplified({{1, 1}, {1, 0}})), "");
  EXPECT_EQ(Text(Inverse({{2, 3, 4}, {2, 0, 1}})), "4 2 3 /1/2/0");
}

GF_FOR_EVERY_DEVICE(PermuteTest);

}  // namespace
}  // namespace gf

#include "data/augment.h"

#include <google/protobuf/text_format.h>

#include <map>
#include <set>

#include "tests/data/test_util.h"

namespace gf {
namespace {

std::vector<uint8_t> Apply(const DataConfig& config, bool random, const std::vector<uint8_t>& in,
                           ImageSize size, int channels, uint64_t index = 0, uint64_t epoch = 0) {
  const Augment augment(config, random);
  std::vector<uint8_t> out(augment.OutputSize(size).pixels() * channels, 99);
  ByteBuffer scratch;
  augment.Apply(in.data(), size, channels, Random(1, StreamId(RandomUse::kAugment, epoch, index)),
                out.data(), &scratch);
  return out;
}

DataConfig Config(const std::string& text) {
  DataConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

TEST(Augment, CentreCropTakesTheMiddle) {
  const std::vector<uint8_t> in = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                   10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  // 4 high, 5 wide.
  EXPECT_EQ(Apply(Config("crop_size: 2"), false, in, {4, 5}, 1),
            (std::vector<uint8_t>{6, 7, 11, 12}));
}

TEST(Augment, PaddingIsZeros) {
  EXPECT_EQ(Apply(Config("pad: 1"), true, {5, 6}, {1, 2}, 1),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 5, 6, 0, 0, 0, 0, 0}));
}

TEST(Augment, MirrorReversesRowsOfPixelsHalfOfTheTime) {
  const std::vector<uint8_t> in = {1, 2, 3, 4, 5, 6}, mirrored = {4, 5, 6, 1, 2, 3};
  int count = 0;
  for (int i = 0; i < 400; ++i) {
    const auto out = Apply(Config("mirror: true"), true, in, {1, 2}, 3, i);
    EXPECT_TRUE(out == in || out == mirrored);
    count += out == mirrored;
  }
  EXPECT_NEAR(count, 200, 60);
}

TEST(Augment, RandomCropReachesEveryWindowAndOnlyThose) {
  const auto in = Gradient({6, 6}, 1);
  std::map<std::vector<uint8_t>, int> seen;
  for (int i = 0; i < 900; ++i) {
    ++seen[Apply(Config("crop_size: 4 random_crop: true"), true, in, {6, 6}, 1, i)];
  }
  // 3 x 3 corners; the gradient makes all windows different.
  EXPECT_EQ(seen.size(), 9u);
  for (const auto& entry : seen) EXPECT_NEAR(entry.second, 100, 50);
}

TEST(Augment, ChoicesDependOnSeedEpochAndSampleOnly) {
  const auto in = Gradient({16, 16}, 3);
  const DataConfig config = Config("pad: 4 crop_size: 16 random_crop: true mirror: true");
  EXPECT_EQ(Apply(config, true, in, {16, 16}, 3, 5, 2), Apply(config, true, in, {16, 16}, 3, 5, 2));
  std::set<std::vector<uint8_t>> results;
  for (int epoch = 0; epoch < 20; ++epoch) {
    results.insert(Apply(config, true, in, {16, 16}, 3, 5, epoch));
  }
  EXPECT_GT(results.size(), 10u);
}

TEST(Augment, EvaluationIsNeverRandom) {
  const auto in = Gradient({8, 8}, 3);
  const DataConfig config = Config("crop_size: 4 random_crop: true mirror: true");
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(Apply(config, false, in, {8, 8}, 3, i), Apply(config, false, in, {8, 8}, 3, 0));
  }
}

TEST(Augment, ShrinkingAveragesAreas) {
  const std::vector<uint8_t> in = {0, 100, 50, 50, 200, 100, 50, 50};
  EXPECT_EQ(Apply(Config("resize_height: 1 resize_width: 2"), false, in, {2, 4}, 1),
            (std::vector<uint8_t>{100, 50}));
}

TEST(Augment, ShrinkingOneAxisAndGrowingTheOtherAveragesToo) {
  // 1 high, 8 wide of alternating black and white: sampling without averaging would not give
  // the gray.
  const std::vector<uint8_t> in = {0, 200, 0, 200, 0, 200, 0, 200};
  EXPECT_EQ(Apply(Config("resize_height: 2 resize_width: 2"), false, in, {1, 8}, 1),
            (std::vector<uint8_t>{100, 100, 100, 100}));
}

TEST(Augment, ShorterSideIsResizedAndTheOtherKeepsProportion) {
  const Augment augment(Config("resize_shorter: 256"), false);
  EXPECT_EQ(augment.OutputSize({375, 500}), (ImageSize{256, 341}));
  EXPECT_EQ(augment.OutputSize({500, 375}), (ImageSize{341, 256}));
  EXPECT_EQ(augment.OutputSize({10, 10}), (ImageSize{256, 256}));
}

TEST(Augment, SettingsThatContradictAreRefused) {
  const auto message = [](const std::string& text) {
    return ErrorOf([&] { Augment(Config(text), true).OutputSize({100, 100}); });
  };
  EXPECT_NE(message("resize_height: 5").find("resize_width"), std::string::npos);
  EXPECT_NE(message("resize_shorter: 5 resize_height: 5 resize_width: 5").find("one of the two"),
            std::string::npos);
  EXPECT_NE(message("random_crop: true").find("crop_size"), std::string::npos);
  EXPECT_NE(message("pad: -1").find("pad"), std::string::npos);
  EXPECT_NE(message("crop_size: 101").find("larger than the image"), std::string::npos);
}

}  // namespace
}  // namespace gf

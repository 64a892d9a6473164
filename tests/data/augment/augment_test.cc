#include "data/augment/augment.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "data/augment/picture.h"
#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

std::vector<uint8_t> Apply(const DataConfig& config, bool random, const std::vector<uint8_t>& in,
                           ImageSize size, int channels, uint64_t index = 0, uint64_t epoch = 0) {
  const Augment augment(config, random);
  const Recipe recipe = augment.Draw(size, Random(1, StreamId(RandomUse::kAugment, epoch, index)));
  EXPECT_EQ(recipe.out, augment.OutputSize(size));
  EXPECT_FALSE(CutsTwice(recipe, size));
  std::vector<uint8_t> out(recipe.out.pixels() * channels, 99);
  Renderer renderer;
  RenderPixels(in.data(), size, {PixelType::kUINT8, channels},
               ViewOf(recipe, size, augment.filter()), &renderer, out.data());
  if (!recipe.colors.Nothing()) recipe.colors.Apply(out.data(), recipe.out.pixels());
  return out;
}

DataConfig Config(const std::string& text) {
  DataConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

TEST(Augment, CenterCropTakesTheMiddle) {
  const std::vector<uint8_t> in = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                   10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  // 4 high, 5 wide; of two middles the even one counts, as in torchvision.
  EXPECT_EQ(Apply(Config("crop_size: 2"), false, in, {4, 5}, 1),
            (std::vector<uint8_t>{7, 8, 12, 13}));
  EXPECT_EQ(Apply(Config("crop_size: 2"), false, in, {5, 4}, 1),
            (std::vector<uint8_t>{9, 10, 13, 14}));
  EXPECT_EQ(Apply(Config("crop_size: 4"), false, in, {4, 5}, 1),
            (std::vector<uint8_t>{0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18}));
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
  EXPECT_EQ(Apply(Config("filter: AREA resize_height: 1 resize_width: 2"), false, in, {2, 4}, 1),
            (std::vector<uint8_t>{100, 50}));
}

TEST(Augment, ShrinkingOneAxisAndGrowingTheOtherAveragesToo) {
  // 1 high, 8 wide of alternating black and white: sampling without averaging would not give
  // the gray.
  const std::vector<uint8_t> in = {0, 200, 0, 200, 0, 200, 0, 200};
  EXPECT_EQ(Apply(Config("filter: AREA resize_height: 2 resize_width: 2"), false, in, {1, 8}, 1),
            (std::vector<uint8_t>{100, 100, 100, 100}));
}

TEST(Augment, ShorterSideIsResizedAndTheOtherKeepsProportion) {
  const Augment augment(Config("resize_shorter: 256"), false);
  EXPECT_EQ(augment.OutputSize({375, 500}), (ImageSize{256, 341}));
  EXPECT_EQ(augment.OutputSize({500, 375}), (ImageSize{341, 256}));
  EXPECT_EQ(augment.OutputSize({10, 10}), (ImageSize{256, 256}));
}

TEST(Augment, AWindowInThePaddingIsZeros) {
  for (int i = 0; i < 50; ++i) {
    const auto out =
        Apply(Config("pad: 9 crop_size: 3 random_crop: true"), true, {7, 7}, {1, 2}, 1, i);
    EXPECT_EQ(out.size(), 9u);
    for (const uint8_t value : out) EXPECT_TRUE(value == 0 || value == 7);
  }
}

TEST(Augment, PaddingIsMirroredWithTheImage) {
  // Of 0 1 2 0 the crop takes the first three.
  const std::vector<uint8_t> plain = {0, 0, 0, 0, 1, 2, 0, 0, 0},
                             mirrored = {0, 0, 0, 2, 1, 0, 0, 0, 0};
  std::set<std::vector<uint8_t>> seen;
  for (int i = 0; i < 40; ++i) {
    seen.insert(Apply(Config("pad: 1 crop_size: 3 mirror: true"), true, {1, 2}, {1, 2}, 1, i));
  }
  EXPECT_EQ(seen, (std::set<std::vector<uint8_t>>{plain, mirrored}));
}

// The picture of a recipe, out of the image's rows. T is the type of `format`.
template <typename T>
std::vector<T> MakePicture(const Augment& augment, const Recipe& recipe, const std::vector<T>& in,
                           ImageSize size, PixelFormat format) {
  std::vector<T> out(recipe.out.pixels() * format.channels);
  PictureScratch scratch;
  PictureSink sink(
      augment, format, [&](ImageSize) { return recipe; }, /*keep_resized=*/false,
      reinterpret_cast<uint8_t*>(out.data()), &scratch);
  SendRows(in.data(), size, format, &sink);
  sink.Finish();
  return out;
}

// Windows at every place, mirrored and not, against the definition.
template <typename T>
void ExpectReflected(double most, int channels) {
  const ImageSize size = {5, 7};
  const Augment augment(
      Config("pad: 4 pad_mode: REFLECT crop_size: 3 random_crop: true mirror: true"), true);
  const std::vector<T> in = NoisePixels<T>(size, channels, most, 3);
  std::set<std::tuple<int, int, bool>> seen;
  for (int i = 0; i < 5000; ++i) {
    const Recipe recipe = augment.Draw(size, Random(1, i));
    const ImageWindow& w = recipe.window;
    if (!seen.emplace(w.top, w.left, recipe.mirrored).second) continue;
    const bool inside = w.top >= 0 && w.left >= 0 && w.top <= 2 && w.left <= 4;
    ASSERT_EQ(recipe.reflected, !inside);
    const std::vector<T> out = MakePicture(augment, recipe, in, size, {kTypeOf<T>, channels});
    for (int k = 0; k < 3 * 3 * channels; ++k) {
      const int c = k % channels, x = k / channels % 3, y = k / channels / 3;
      const int row = Reflected(w.top + y, size.height);
      const int column = Reflected(w.left + (recipe.mirrored ? 2 - x : x), size.width);
      ASSERT_EQ(out[k], in[(row * size.width + column) * channels + c])
          << w.top << " " << w.left << " " << recipe.mirrored << " " << k;
    }
  }
  // 5 + 2 * 4 - 3 + 1 rows times 7 + 2 * 4 - 3 + 1 columns, twice.
  EXPECT_EQ(seen.size(), 2u * 11 * 13);
}

TEST(Augment, ReflectedPaddingIsTheMirrorImageWithoutTheBorder) {
  for (const int channels : {1, 3}) {
    ExpectReflected<uint8_t>(255, channels);
    ExpectReflected<uint16_t>(65535, channels);
    ExpectReflected<float>(-300, channels);
  }
  EXPECT_EQ(Reflected(-1, 4), 1);
  EXPECT_EQ(Reflected(4, 4), 2);
}

// In evaluation and in training, where an image may be resized in another way.
TEST(Augment, ReflectedPaddingFollowsTheResizing) {
  const ImageSize size = {31, 40}, resized = {12, 10};
  const std::vector<uint8_t> in = NoisePixels<uint8_t>(size, 3, 255, 3);
  for (const bool random : {false, true}) {
    const Augment plain(Config("resize_height: 12 resize_width: 10"), random);
    const std::vector<uint8_t> whole =
        MakePicture(plain, plain.Draw(size, Random(1, 1)), in, size, {});
    const Augment padded(Config("resize_height: 12 resize_width: 10 pad: 9 pad_mode: REFLECT"),
                         random);
    const std::vector<uint8_t> out =
        MakePicture(padded, padded.Draw(size, Random(1, 1)), in, size, {});
    ASSERT_EQ(out.size(), 30u * 28 * 3);
    for (int k = 0; k < 30 * 28 * 3; ++k) {
      const int row = Reflected(k / 84 - 9, resized.height);
      const int column = Reflected(k / 3 % 28 - 9, resized.width);
      ASSERT_EQ(out[k], whole[(row * resized.width + column) * 3 + k % 3]) << random << " " << k;
    }
  }
}

TEST(Augment, AnImageIsReflectedWithinItsSize) {
  const Augment augment(Config("pad: 4 pad_mode: REFLECT"), true);
  EXPECT_EQ(augment.OutputSize({5, 9}), (ImageSize{13, 17}));
  for (const ImageSize size : {ImageSize{4, 9}, {9, 4}, {1, 1}}) {
    const std::string error = ErrorOf([&] { augment.OutputSize(size); });
    EXPECT_NE(error.find("pad: 4 with pad_mode: REFLECT needs images of more than 4 pixels in "
                         "height and width, but an image has " +
                         size.ToString()),
              std::string::npos)
        << error;
  }
  EXPECT_EQ(Augment(Config("pad_mode: REFLECT"), true).OutputSize({1, 1}), (ImageSize{1, 1}));
}

TEST(Augment, ResizedCropsHaveTheRequestedAreasAndShapes) {
  const Augment augment(
      Config("random_resized_crop: true crop_size: 16 min_area: 0.2 max_area: 0.6"), true);
  const ImageSize size = {300, 400};
  double smallest = 1, largest = 0, flattest = 9, widest = 0;
  for (int i = 0; i < 2000; ++i) {
    const Recipe recipe = augment.Draw(size, Random(3, i));
    const ImageWindow& w = recipe.window;
    EXPECT_EQ(recipe.out, (ImageSize{16, 16}));
    ASSERT_TRUE(w.top >= 0 && w.left >= 0 && w.height > 0 && w.width > 0);
    ASSERT_TRUE(w.top + w.height <= 300 && w.left + w.width <= 400);
    const double area = double(w.height) * w.width / size.pixels();
    const double aspect = double(w.width) / w.height;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    flattest = std::min(flattest, aspect);
    widest = std::max(widest, aspect);
  }
  EXPECT_NEAR(smallest, 0.2, 0.01);
  EXPECT_NEAR(largest, 0.6, 0.01);
  EXPECT_NEAR(flattest, 0.75, 0.02);
  EXPECT_NEAR(widest, 4. / 3, 0.02);
}

TEST(Augment, AnImageOfAnImpossibleShapeGivesItsLargestWindow) {
  const Augment augment(Config("random_resized_crop: true crop_size: 8 min_area: 0.9"), true);
  for (int i = 0; i < 20; ++i) {
    const ImageWindow w = augment.Draw({10, 1000}, Random(3, i)).window;
    EXPECT_EQ(w.height, 10);
    EXPECT_EQ(w.width, 13);
    EXPECT_EQ(w.left, (1000 - 13) / 2);
  }
  EXPECT_EQ(augment.Draw({1, 1}, Random(3, 1)).window.width, 1);
}

TEST(Augment, AResizedCropShowsNothingOutsideItsWindow) {
  // White outside the window: with neighbors of the window in reach of the filter, the border of
  // the result would be lighter.
  const Augment augment(Config("random_resized_crop: true crop_size: 8 max_area: 0.3"), true);
  const ImageSize size = {64, 64};
  const Recipe recipe = augment.Draw(size, Random(3, 5));
  std::vector<uint8_t> in(size.pixels() * 3, 255), out(8 * 8 * 3);
  const ImageWindow& w = recipe.window;
  for (int y = w.top; y < w.top + w.height; ++y) {
    std::fill_n(&in[(y * 64 + w.left) * 3], w.width * 3, 10);
  }
  Renderer renderer;
  RenderPixels(in.data(), size, {PixelType::kUINT8, 3}, ViewOf(recipe, size, augment.filter()),
               &renderer, out.data());
  EXPECT_EQ(out, std::vector<uint8_t>(out.size(), 10));
}

TEST(Augment, ColorsChangeAsASingleAffineMap) {
  // Factors of exactly known strength: brightness 1, contrast 0, saturation 0 leave the mean gray.
  ColorChange change;
  change.contrast = 0;
  std::vector<uint8_t> pixels = {10, 20, 30, 110, 120, 130};
  change.Apply(pixels.data(), 2);
  EXPECT_EQ(pixels, (std::vector<uint8_t>(6, 68)));  // 0.299 60 + 0.587 70 + 0.114 80
  change = {};
  change.saturation = 0;
  pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  change.Apply(pixels.data(), 3);
  EXPECT_EQ(pixels, (std::vector<uint8_t>{76, 76, 76, 150, 150, 150, 29, 29, 29}));
  change = {};
  change.brightness = 2;
  change.shift[1] = -7;
  pixels = {200, 3, 50};
  change.Apply(pixels.data(), 1);
  EXPECT_EQ(pixels, (std::vector<uint8_t>{255, 0, 100}));
}

TEST(Augment, ColorsAreDrawnWithinTheirStrengthAndOnlyInTraining) {
  const DataConfig config = Config("brightness: 0.4 contrast: 0.2 saturation: 3 lighting: 0.1");
  float least = 9, most = 0, saturation = 0;
  double shift = 0;
  for (int i = 0; i < 1000; ++i) {
    const ColorChange c = Augment(config, true).Draw({4, 4}, Random(1, i)).colors;
    least = std::min(least, c.brightness);
    most = std::max(most, c.brightness);
    ASSERT_GE(c.saturation, 0);
    saturation = std::max(saturation, c.saturation);
    shift += c.shift[0] * c.shift[0];
    EXPECT_TRUE(Augment(config, false).Draw({4, 4}, Random(1, i)).colors.Nothing());
  }
  EXPECT_NEAR(least, 0.6, 0.02);
  EXPECT_NEAR(most, 1.4, 0.02);
  EXPECT_NEAR(saturation, 4, 0.1);
  // 0.1 x 255 x |(0.2175 x 0.5675, 0.0188 x 0.7192, 0.0045 x 0.4009)|
  EXPECT_NEAR(std::sqrt(shift / 1000), 3.17, 0.3);
}

TEST(Augment, AWindowMustFitIntoTheImage) {
  const std::string error = ErrorOf([] {
    Augment(Config("crop_size: 101"), true).OutputSize({100, 100});
  });
  EXPECT_NE(error.find("larger than the image"), std::string::npos) << error;
}

}  // namespace
}  // namespace gf

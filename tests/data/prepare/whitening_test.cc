// Filters that whiten patches, against the patches of pixels that the test knows.
#include "data/prepare/whitening.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {9, 11};
constexpr int kImages = 40;

// Pixels H, W, C of an image in which neighbors and channels are alike, as in photographs.
template <typename T>
std::vector<T> Pixels(int image, int channels, double most) {
  std::mt19937 random(image + 1);
  const auto uniform = [&] { return (random() % 10'001) / 10'000.; };
  const double light = uniform(), x_slope = uniform() - 0.5, y_slope = uniform() - 0.5;
  std::vector<T> pixels;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double value = 0.2 + 0.4 * light + 0.03 * (x_slope * x + y_slope * y) +
                             0.05 * c * light + 0.1 * uniform();
        pixels.push_back(static_cast<T>(most * std::clamp(value, 0., 1.)));
      }
    }
  }
  return pixels;
}

class WhiteningTest : public testing::Test {
 protected:
  template <typename T>
  void WriteImages(int channels, double most, int count = kImages) const {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < count; ++i) {
      const auto png =
          EncodePng(Pixels<T>(i, channels, most).data(), kSize, {kTypeOf<T>, channels});
      Add(StrCat("s", i), ToText(png), &tar);
    }
    tar.Close();
  }
  static void Add(const std::string& key, const std::string& image, TarWriter* tar) {
    tar->Add(key + ".png", image.data(), image.size());
    tar->Add(key + ".cls", "0", 1);
  }

  WhiteningOptions Options(int channels, int kernel) const {
    WhiteningOptions options;
    options.data.set_source(folder_ / "a.tar");
    options.data.set_channels(channels);
    options.data.set_workers(2);
    options.kernel = kernel;
    return options;
  }

  static Whitening Run(const WhiteningOptions& options) {
    return WhitenPatches(options, [](int64_t, int64_t) {});
  }
  static std::string Error(const WhiteningOptions& options) {
    return ErrorOf([&] { Run(options); });
  }

  // Checks the filters by their outputs on the patches of all images.
  template <typename T>
  void ExpectWhite(DataConfig::PixelType type, int channels, int kernel, double most) const {
    WriteImages<T>(channels, most);
    WhiteningOptions options = Options(channels, kernel);
    options.data.set_pixel_type(type);
    std::vector<double> mean, std;
    for (int c = 0; c < channels; ++c) {
      mean.push_back(most * (0.3 + 0.1 * c));
      std.push_back(most * (0.2 + 0.1 * c));
      options.data.add_mean(static_cast<float>(mean[c]));
      options.data.add_std(static_cast<float>(std[c]));
    }
    const Whitening result = Run(options);
    const int size = channels * kernel * kernel;
    const int rows = kSize.height - kernel + 1, columns = kSize.width - kernel + 1;
    EXPECT_EQ(result.images, kImages);
    EXPECT_EQ(result.patches, int64_t{kImages} * rows * columns);
    ASSERT_EQ(result.shape, (Shape{2 * size, channels, kernel, kernel}));
    ASSERT_EQ(static_cast<int64_t>(result.filters.size()), result.shape.count());
    ASSERT_EQ(static_cast<int>(result.eigenvalues.size()), size);
    EXPECT_TRUE(std::is_sorted(result.eigenvalues.rbegin(), result.eigenvalues.rend()));

    std::vector<double> products(4 * size * size), outputs(2 * size), patch(size);
    double squares = 0;
    for (int image = 0; image < kImages; ++image) {
      const std::vector<T> pixels = Pixels<T>(image, channels, most);
      for (int place = 0; place < rows * columns; ++place) {
        for (int k = 0; k < size; ++k) {
          const int c = k / kernel / kernel, y = place / columns + k / kernel % kernel,
                    x = place % columns + k % kernel;
          const double pixel = pixels[(y * kSize.width + x) * channels + c];
          patch[k] = (pixel - mean[c]) / std[c];
          squares += patch[k] * patch[k];
        }
        for (int f = 0; f < 2 * size; ++f) {
          outputs[f] = 0;
          for (int k = 0; k < size; ++k) outputs[f] += result.filters[f * size + k] * patch[k];
        }
        for (int i = 0; i < 4 * size * size; ++i) {
          products[i] += outputs[i / (2 * size)] * outputs[i % (2 * size)];
        }
      }
    }
    const auto patches = static_cast<double>(result.patches);
    double sum = 0;
    for (const double value : result.eigenvalues) sum += value;
    EXPECT_NEAR(sum, squares / patches, 1e-5 * sum);
    for (int i = 0; i < 2 * size; ++i) {
      const double eigenvalue = result.eigenvalues[i % size];
      EXPECT_GT(eigenvalue, 0);
      for (int j = 0; j < 2 * size; ++j) {
        const double sign = i / size == j / size ? 1 : -1;
        const double expected =
            i % size == j % size ? sign / (1 + options.epsilon / eigenvalue) : 0;
        ASSERT_NEAR(products[i * 2 * size + j] / patches, expected, 1e-3) << i << " " << j;
      }
      double length = 0;
      for (int k = 0; k < size; ++k) {
        const double weight = result.filters[i * size + k];
        length += weight * weight;
        ASSERT_EQ(result.filters[(i + size) % (2 * size) * size + k], -weight);
      }
      EXPECT_NEAR(length * (eigenvalue + options.epsilon), 1, 1e-5);
    }
  }

  const TempFolder folder_;
};

TEST_F(WhiteningTest, OutputsAreUncorrelatedAndOfOneSize) {
  for (const int channels : {1, 3}) {
    for (const int kernel : {1, 2, 3}) {
      ASSERT_NO_FATAL_FAILURE(ExpectWhite<uint8_t>(DataConfig::UINT8, channels, kernel, 255));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWhite<uint16_t>(DataConfig::UINT16, channels, 2, 65535));
  }
}

TEST_F(WhiteningTest, HasTheSameBitsOnEveryRunForAnyWorkersAndWithoutRandomParts) {
  WriteImages<uint8_t>(3, 255);
  WhiteningOptions options = Options(3, 2);
  const std::vector<float> expected = Run(options).filters;
  options.data.set_workers(5);
  EXPECT_EQ(Run(options).filters, expected);
  options.data.set_batch_size(7);
  options.data.set_mirror(true);
  options.data.set_alternate_mirror(true);
  options.data.set_brightness(0.5f);
  options.data.mutable_policy()->set_type(PolicyConfig::RAND_AUGMENT);
  options.data.mutable_mix()->set_mixup(0.2f);
  options.data.set_cache_mib(1);
  EXPECT_EQ(Run(options).filters, expected);
  options.data.clear_brightness();
  options.data.clear_policy();
  options.data.set_device_cache_mib(1);
  EXPECT_EQ(Run(options).filters, expected);
  // Random crops become the one in the center, which resized images have, too.
  WhiteningOptions square = Options(3, 2);
  square.data.set_resize_shorter(8);
  square.data.set_crop_size(8);
  options.data.clear_device_cache_mib();
  options.data.set_crop_size(8);
  options.data.set_random_resized_crop(true);
  const std::vector<float> cropped = Run(square).filters;
  EXPECT_NE(cropped, expected);
  EXPECT_EQ(Run(options).filters, cropped);
}

TEST_F(WhiteningTest, TakesTheFirstImages) {
  WriteImages<uint8_t>(1, 255);
  WhiteningOptions options = Options(1, 2);
  options.images = 30;
  const Whitening first = Run(options);
  EXPECT_EQ(first.images, 30);
  WriteImages<uint8_t>(1, 255, 30);
  options.images = 5000;
  const Whitening all = Run(options);
  EXPECT_EQ(all.images, 30);
  EXPECT_EQ(all.filters, first.filters);
}

TEST_F(WhiteningTest, LeavesDamagedImagesOutIfTheJobDoes) {
  TarWriter tar(folder_ / "a.tar");
  for (int i = 0; i < 9; ++i) {
    std::string png = ToText(EncodePng(Pixels<uint8_t>(i, 3, 255).data(), kSize, 3));
    if (i % 3 == 1) png.resize(png.size() / 2);
    Add(StrCat("s", i), png, &tar);
  }
  tar.Close();
  WhiteningOptions options = Options(3, 2);
  EXPECT_NE(Error(options).find("a.tar:s1:"), std::string::npos);
  options.data.set_on_error(DataConfig::SKIP);
  EXPECT_EQ(Run(options).images, 6);
  options.images = 4;
  EXPECT_EQ(Run(options).images, 4);
}

TEST_F(WhiteningTest, MistakesAreNamed) {
  WriteImages<uint8_t>(3, 255, 2);
  const auto error = [&](const auto& change) {
    WhiteningOptions options = Options(3, 2);
    change(&options);
    return Error(options);
  };
  EXPECT_EQ(error([](auto* o) { o->kernel = 10; }),
            "--kernel: 10 is larger than the images, 9x11 (height x width)");
  EXPECT_EQ(error([](auto* o) { o->kernel = 0; }), "--kernel: 0, expected at least 1");
  EXPECT_EQ(error([](auto* o) { o->images = -1; }), "--images: -1, expected at least 1");
  EXPECT_EQ(error([](auto* o) { o->epsilon = 0; }), "--eps: 0, expected a number greater than 0");
  EXPECT_EQ(error([](auto* o) { o->data.set_resize_shorter(64), o->kernel = 19; }),
            "--kernel: 19 gives filters of 3x19x19 numbers, expected at most 1,024 in all");
  EXPECT_NE(error([](auto* o) { o->data.set_source("nothing"); }).find("nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace gf

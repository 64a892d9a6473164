// Resizing, cropping and mirroring of every format of pixels, against sums in FP64.
#include "data/image/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/data/pixel_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {23, 29};

// The weight of each input for output i of an axis: a triangle as wide as two outputs, or as two
// inputs if the axis grows.
std::vector<double> Weights(int inputs, int outputs, int i) {
  const double scale = static_cast<double>(inputs) / outputs;
  const double center = (i + 0.5) * scale, reach = std::max(scale, 1.0);
  std::vector<double> weights(inputs);
  double sum = 0;
  for (int x = 0; x < inputs; ++x) {
    sum += weights[x] = std::max(0.0, 1 - std::abs(x + 0.5 - center) / reach);
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

template <typename T>
std::vector<double> Resized(const std::vector<T>& pixels, int channels, ImageSize to) {
  std::vector<double> result;
  for (int y = 0; y < to.height; ++y) {
    const std::vector<double> rows = Weights(kSize.height, to.height, y);
    for (int x = 0; x < to.width; ++x) {
      const std::vector<double> columns = Weights(kSize.width, to.width, x);
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int i = 0; i < kSize.height; ++i) {
          for (int k = 0; k < kSize.width; ++k) {
            sum += rows[i] * columns[k] * pixels[(i * kSize.width + k) * channels + c];
          }
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

template <typename T>
std::vector<T> Render(const std::vector<T>& pixels, int channels, const View& view) {
  std::vector<T> out(view.size.pixels() * channels, T{99});
  Renderer renderer;
  RenderPixels(pixels.data(), kSize, {kTypeOf<T>, channels}, view, &renderer, out.data());
  return out;
}

template <typename T>
std::vector<T> MirrorRows(const std::vector<T>& pixels, ImageSize size, int channels) {
  std::vector<T> result;
  for (int y = 0; y < size.height; ++y) {
    for (int x = size.width - 1; x >= 0; --x) {
      const auto pixel = pixels.begin() + (int64_t{y} * size.width + x) * channels;
      result.insert(result.end(), pixel, pixel + channels);
    }
  }
  return result;
}

View ViewTo(ImageSize to, bool exact) {
  View view = WholeView(kSize, to, DataConfig::TRIANGLE);
  view.exact = exact;
  return view;
}

template <typename T>
void ExpectRight(double most, double tolerance, bool exact) {
  for (const int channels : {1, 2, 3, 4, 5, 8, 16}) {
    const std::vector<T> pixels = NoisePixels<T>(kSize, channels, most);
    for (const ImageSize to : {ImageSize{9, 31}, {40, 12}, {11, 7}, {30, 50}}) {
      View view = ViewTo(to, exact);
      const std::vector<T> found = Render(pixels, channels, view);
      const std::vector<double> expected = Resized(pixels, channels, to);
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], tolerance)
            << channels << " channels to " << to.ToString() << ", number " << i;
      }
      view.mirrored = true;
      ASSERT_EQ(Render(pixels, channels, view), MirrorRows(found, to, channels)) << channels;
    }
  }
}

TEST(Render, EveryFormatIsAveraged) {
  ExpectRight<uint8_t>(255, 0.51, /*exact=*/false);
  ExpectRight<uint8_t>(255, 1.1, /*exact=*/true);  // rounded twice
  for (const bool exact : {false, true}) {
    ExpectRight<uint16_t>(65535, 0.6, exact);
    ExpectRight<float>(1, 2e-6, exact);
    ExpectRight<float>(-5e6, 3, exact);
  }
}

// Channel c of five alone.
template <typename T>
std::vector<T> Channel(const std::vector<T>& pixels, int c) {
  std::vector<T> result;
  for (size_t i = c; i < pixels.size(); i += 5) result.push_back(pixels[i]);
  return result;
}

template <typename T>
void ExpectChannelsAlone(double most, double tolerance, bool exact) {
  const std::vector<T> pixels = NoisePixels<T>(kSize, 5, most);
  for (const ImageSize to : {ImageSize{10, 12}, {37, 45}}) {
    const std::vector<T> all = Render(pixels, 5, ViewTo(to, exact));
    for (int c = 0; c < 5; ++c) {
      const std::vector<T> alone = Render(Channel(pixels, c), 1, ViewTo(to, exact));
      const std::vector<T> found = Channel(all, c);
      ASSERT_EQ(found.size(), alone.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], alone[i], tolerance) << c;
    }
  }
}

TEST(Render, ChannelsDoNotMix) {
  for (const bool exact : {false, true}) {
    ExpectChannelsAlone<uint8_t>(255, 0, exact);
    ExpectChannelsAlone<uint16_t>(65535, 1, exact);
    ExpectChannelsAlone<float>(1, 1e-6, exact);
  }
}

TEST(Render, LanczosStaysWithinTheType) {
  // Stripes: the filter swings beyond black and white.
  std::vector<uint16_t> stripes(kSize.pixels() * 5);
  for (size_t i = 0; i < stripes.size(); ++i) stripes[i] = i / 40 % 2 == 0 ? 0 : 65535;
  View view = WholeView(kSize, {46, 58}, DataConfig::LANCZOS);
  const auto found = Render(stripes, 5, view);
  EXPECT_GT(std::count(found.begin(), found.end(), 0), 100);
  EXPECT_GT(std::count(found.begin(), found.end(), 65535), 100);
  std::vector<float> floats(stripes.begin(), stripes.end());
  const auto real = Render(floats, 5, view);
  for (size_t i = 0; i < real.size(); ++i) {
    ASSERT_NEAR(found[i], std::clamp(real[i], 0.f, 65535.f), 0.6) << i;
  }
  EXPECT_LT(*std::min_element(real.begin(), real.end()), -100);
}

// A part of 4 x 5 pixels from (2, 3) on, in a picture with zeros around.
template <typename T>
void ExpectCopied(int channels) {
  const std::vector<T> pixels = NoisePixels<T>(kSize, channels, 200);
  View view;
  view.size = {6, 8};
  view.top = 1;
  view.left = 2;
  view.y = {4, 2, 1, 0, kSize.height};
  view.x = {5, 3, 1, 0, kSize.width};
  std::vector<T> expected(view.size.pixels() * channels);
  for (int y = 0; y < 4; ++y) {
    const auto row = pixels.begin() + ((2 + y) * kSize.width + 3) * channels;
    std::copy(row, row + 5 * channels,
              expected.begin() + ((1 + y) * view.size.width + 2) * channels);
  }
  EXPECT_EQ(Render(pixels, channels, view), expected) << channels;
  view.mirrored = true;
  EXPECT_EQ(Render(pixels, channels, view), MirrorRows(expected, view.size, channels));
}

TEST(Render, PartsAreCopiedPaddedAndMirrored) {
  for (const int channels : {1, 2, 3, 4, 5, 8, 16}) {
    ExpectCopied<uint8_t>(channels);
    ExpectCopied<uint16_t>(channels);
    ExpectCopied<float>(channels);
  }
}

}  // namespace
}  // namespace gf

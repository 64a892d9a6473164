// Mean images: what a loader with a mean_file delivers, beside a formula of its own.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "tests/data/loader/mean_file_util.h"

namespace gf {
namespace {

// Where a part lies in an image, and whether it is mirrored there.
struct Place {
  int top, left;
  bool mirrored;
};

std::optional<Place> FindPart(const std::vector<uint8_t>& image, const uint8_t* part,
                              ImageSize size, int channels) {
  for (int top = 0; top + size.height <= kSize.height; ++top) {
    for (int left = 0; left + size.width <= kSize.width; ++left) {
      for (const bool mirrored : {false, true}) {
        bool same = true;
        for (int y = 0; y < size.height && same; ++y) {
          for (int x = 0; x < size.width && same; ++x) {
            const int column = left + (mirrored ? size.width - 1 - x : x);
            same = std::memcmp(&image[((top + y) * kSize.width + column) * channels],
                               part + (y * size.width + x) * channels, channels) == 0;
          }
        }
        if (same) return Place{top, left, mirrored};
      }
    }
  }
  return std::nullopt;
}

// `plain`: the same parts as UINT8.
void ExpectNormalized(const Batch& batch, const Batch& plain, int channels,
                      const std::vector<double>& stds, std::vector<Place>* places) {
  ASSERT_EQ(batch.images.desc.dtype, DType::kFP32);
  ASSERT_EQ(batch.images.desc.shape, plain.images.desc.shape);
  ASSERT_EQ(batch.labels, plain.labels);
  EXPECT_TRUE(batch.mean.empty() && batch.inverse_std.empty() && batch.cuts.empty());
  EXPECT_TRUE(batch.Fits(plain.images.desc.shape));
  const Shape& shape = batch.images.desc.shape;
  const ImageSize size = {static_cast<int>(shape[2]), static_cast<int>(shape[3])};
  const float* values = batch.images.as<float>();
  for (int64_t n = 0; n < batch.size() - batch.padding; ++n) {
    const std::vector<uint8_t> image = Noise(kSize, channels, static_cast<int>(batch.labels[n]));
    const uint8_t* const part = plain.images.as<uint8_t>() + n * shape.count(1, 4);
    const std::optional<Place> place = FindPart(image, part, size, channels);
    ASSERT_TRUE(place.has_value());
    places->push_back(*place);
    for (int c = 0; c < channels; ++c) {
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          const int row = place->top + y;
          const int column = place->left + (place->mirrored ? size.width - 1 - x : x);
          const double pixel = image[(row * kSize.width + column) * channels + c];
          const double expected = (pixel - MeanAt(c, row, column)) / stds[c];
          ASSERT_NEAR(*values++, expected, 1e-4) << n << " " << c << " " << y << " " << x;
        }
      }
    }
  }
}

TEST_F(MeanFileTest, EachPixelHasTheValueAtItsPlaceSubtracted) {
  for (const int channels : {1, 3}) {
    for (const bool whole : {false, true}) {
      WriteNoise(7, channels);
      DataConfig config = MeanConfig(5, channels, MeanBlob(kSize, channels, whole));
      const std::vector<double> stds = {2, 50, 0.75};
      for (int c = 0; c < channels; ++c) config.add_std(static_cast<float>(stds[c]));
      if (!whole) {
        config.set_crop_size(6);
        config.set_random_crop(true);
      }
      config.set_mirror(true);
      DataConfig plain_config = config;
      plain_config.clear_mean_file();
      Loader loader(config, {}), plain(plain_config, {});
      EXPECT_EQ(loader.image_bytes(), 4 * plain.image_bytes());
      std::vector<Place> places;
      for (int i = 0; i < 12; ++i) {
        const Batch& expected = plain.Next();
        ASSERT_NO_FATAL_FAILURE(ExpectNormalized(loader.Next(), expected, channels, stds, &places));
      }
      // The random choices do differ.
      int mirrored = 0, moved = 0;
      for (const Place& place : places) {
        mirrored += place.mirrored ? 1 : 0;
        moved += place.top != places[0].top && place.left != places[0].left ? 1 : 0;
      }
      EXPECT_GT(mirrored, 10);
      EXPECT_LT(mirrored, 50);
      EXPECT_EQ(moved > 10, !whole);
    }
  }
}

TEST_F(MeanFileTest, EvaluationCutsTheCenterAndPadsWithZeros) {
  WriteNoise(5, 3);
  DataConfig config = MeanConfig(4, 3, MeanBlob(kSize, 3));
  config.set_crop_size(5);
  config.set_random_crop(true);
  config.set_mirror(true);
  DataConfig plain_config = config;
  plain_config.clear_mean_file();
  const LoaderOptions options = Ranked(LoaderOptions::kEvaluate, 0, 1);
  Loader loader(config, options), plain(plain_config, options);
  for (const int padding : {0, 3}) {
    const Batch& expected = plain.Next();
    const Batch& batch = loader.Next();
    std::vector<Place> places;
    ASSERT_NO_FATAL_FAILURE(ExpectNormalized(batch, expected, 3, {1, 1, 1}, &places));
    for (const Place& place : places) {
      EXPECT_TRUE(place.top == 2 && place.left == 3 && !place.mirrored);
    }
    EXPECT_EQ(batch.padding, padding);
    const int64_t count = 3 * 5 * 5;
    for (int64_t i = (4 - padding) * count; i < 4 * count; ++i) {
      EXPECT_EQ(batch.images.as<float>()[i], 0);
    }
  }
}

TEST_F(MeanFileTest, DamagedImagesAreLeftOutOrGray) {
  WriteDamagedShard(folder_ / "a.tar", 6, {1, 3});
  DataConfig config = MeanConfig(6, 3, MeanBlob({4, 4}, 3));
  config.set_crop_size(2);
  const auto first_pixels = [&](DataConfig::OnError on_error) {
    config.set_on_error(on_error);
    Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
    const Batch& batch = loader.Next();
    std::vector<float> pixels;
    for (int64_t n = 0; n < batch.size() - batch.padding; ++n) {
      // Without the mean, at rows and columns 1 and 2.
      const float* values = batch.images.as<float>() + n * 12;
      pixels.push_back(*values + MeanAt(0, 1, 1));
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(*values++ + MeanAt(c, 1 + i / 2, 1 + i % 2), pixels.back());
        }
      }
    }
    return pixels;
  };
  EXPECT_EQ(first_pixels(DataConfig::REPLACE), (std::vector<float>{0, 128, 2, 128, 4, 5}));
  EXPECT_EQ(first_pixels(DataConfig::SKIP), (std::vector<float>{0, 2, 4, 5}));
}

TEST_F(MeanFileTest, ResultsDependNeitherOnWorkersNorOnTheCache) {
  WriteNoise(23, 3);
  DataConfig config = MeanConfig(6, 3, MeanBlob(kSize, 3), 1);
  config.set_crop_size(7);
  config.set_random_crop(true);
  config.set_mirror(true);
  std::vector<std::vector<uint8_t>> expected;
  Loader one(config, {});
  for (int i = 0; i < 12; ++i) expected.push_back(Bytes(one.Next()));
  config.set_workers(4);
  for (const int mib : {0, 1}) {
    config.set_cache_mib(mib);
    Loader loader(config, {});
    for (int i = 0; i < 12; ++i) EXPECT_EQ(Bytes(loader.Next()), expected[i]) << mib << " " << i;
    loader.Seek(6 * 5);
    EXPECT_EQ(Bytes(loader.Next()), expected[5]);
  }
}

TEST_F(MeanFileTest, ACopyOfABatchKeepsItsPixels) {
  WriteNoise(16, 1);
  Loader loader(MeanConfig(4, 1, MeanBlob(kSize, 1)), {});
  const Batch kept = loader.Next();
  const auto before = Bytes(kept);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(loader.Next().images.desc.dtype, DType::kFP32);
  }
  EXPECT_EQ(Bytes(kept), before);
}

TEST_F(MeanFileTest, RandomResizedCropsSubtractTheMeanPerChannel) {
  WritePictures(folder_ / "a.tar", 9);
  DataConfig config = MeanConfig(3, 3, MeanBlob({2, 3}, 3));
  config.set_crop_size(24);
  config.set_random_resized_crop(true);
  config.add_std(4);
  {
    Loader loader(config, {});
    const Batch& batch = loader.Next();
    EXPECT_EQ(batch.images.desc.dtype, DType::kUINT8);
    EXPECT_EQ(batch.inverse_std, (std::vector<float>{0.25f, 0.25f, 0.25f}));
    ASSERT_EQ(batch.mean.size(), 3u);
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int i = 0; i < 6; ++i) sum += MeanAt(c, i / 3, i % 3);
      EXPECT_FLOAT_EQ(batch.mean[c], static_cast<float>(sum / 6));
    }
  }
  // In evaluation there are no random crops.
  EXPECT_TRUE(Has(Error(config, LoaderOptions::kEvaluate), "after resizing: set resize_height: 2"));
}

}  // namespace
}  // namespace gf

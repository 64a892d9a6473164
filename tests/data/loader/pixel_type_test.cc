// Pixels of more than 8 bits and of other numbers of channels than 1 and 3, from the data set to
// the batch.
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "data/loader/loader.h"
#include "tests/data/formats/lmdb_util.h"
#include "tests/data/loader/loader_util.h"
#include "tests/data/pixel_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {6, 7};

class PixelTypeTest : public testing::Test {
 protected:
  // The planes of image i, in a Datum's order.
  static std::vector<float> Planes(int i, int channels) {
    return NoisePixels<float>(kSize, channels, -300 - i, i);
  }
  static std::vector<uint8_t> Bytes8(int i, int channels) {
    return NoisePixels<uint8_t>(kSize, channels, 255, i);
  }
  static std::vector<uint16_t> Words(int i, int channels) {
    return NoisePixels<uint16_t>(kSize, channels, 65535, i);
  }

  // A database of `count` images; image i has the label i.
  void WriteFloats(int count, int channels) const {
    LmdbRecords records;
    for (int i = 0; i < count; ++i) {
      records.emplace_back(StrCat(100 + i), FloatDatum(channels, kSize.height, kSize.width,
                                                       Planes(i, channels), i, i % 2 == 0));
    }
    WriteLmdb(folder_ / "db", records);
  }

  // The same of bytes; `bad` lacks a byte.
  void WriteBytes(int count, int channels, int bad = -1) const {
    LmdbRecords records;
    for (int i = 0; i < count; ++i) {
      const std::vector<uint8_t> planes = Bytes8(i, channels);
      const auto end = i == bad ? planes.end() - 1 : planes.end();
      records.emplace_back(StrCat(100 + i), RawDatum(channels, kSize.height, kSize.width,
                                                     std::string(planes.begin(), end), i));
    }
    WriteLmdb(folder_ / "db", records);
  }

  // Shards of PNGs of 16 bits.
  void WriteWords(int count, int channels) const {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < count; ++i) {
      const auto png = EncodePng(Words(i, channels).data(), kSize, {PixelType::kUINT16, channels});
      tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
      tar.Add(StrCat("s", i, ".cls"), std::to_string(i).data(), std::to_string(i).size());
    }
    tar.Close();
  }

  // With a mean and a std per channel; divisions by these are exact.
  DataConfig TypeConfig(const std::string& source, int batch, int channels,
                        DataConfig::PixelType type) const {
    DataConfig config = Config(folder_ / source, batch);
    config.set_channels(channels);
    config.set_pixel_type(type);
    for (int c = 0; c < channels; ++c) {
      config.add_mean(Mean(c));
      config.add_std(Std(c));
    }
    return config;
  }
  static float Mean(int c) { return 10.5f * static_cast<float>(c) - 20; }
  static float Std(int c) { return c % 2 == 0 ? 0.25f : 8; }

  // Checks an FP32 batch of whole images; planes(i) are those of image i.
  template <typename PlanesOf>
  static void ExpectNormalized(const Batch& batch, int channels, const PlanesOf& planes) {
    ASSERT_EQ(batch.images.desc.dtype, DType::kFP32);
    ASSERT_EQ(batch.images.desc.shape, (Shape{batch.size(), channels, kSize.height, kSize.width}));
    EXPECT_TRUE(batch.mean.empty() && batch.inverse_std.empty() && batch.cuts.empty());
    const float* value = batch.images.as<float>();
    for (int64_t n = 0; n < batch.size() - batch.padding; ++n) {
      const auto image = planes(static_cast<int>(batch.labels[n]));
      for (int c = 0; c < channels; ++c) {
        for (int64_t p = 0; p < kSize.pixels(); ++p) {
          const auto x = static_cast<float>(image[c * kSize.pixels() + p]);
          ASSERT_EQ(*value++, (x - Mean(c)) / Std(c)) << n << " " << c << " " << p;
        }
      }
    }
  }

  const TempFolder folder_;
};

// From H, W, C.
template <typename T>
std::vector<T> ToPlanes(const std::vector<T>& pixels, int channels) {
  std::vector<T> planes;
  for (int c = 0; c < channels; ++c) {
    for (size_t p = c; p < pixels.size(); p += channels) planes.push_back(pixels[p]);
  }
  return planes;
}

TEST_F(PixelTypeTest, FloatsOfEightChannelsAreNormalizedExactly) {
  WriteFloats(7, 8);
  Loader loader(TypeConfig("db", 3, 8, DataConfig::FP32), {});
  EXPECT_EQ(loader.image_shape(), (Shape{8, kSize.height, kSize.width}));
  EXPECT_EQ(loader.image_bytes(), 4 * 8 * kSize.pixels());
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        ExpectNormalized(loader.Next(), 8, [](int image) { return Planes(image, 8); }));
  }
}

TEST_F(PixelTypeTest, EvaluationPadsItsLastBatchWithZeros) {
  WriteFloats(4, 2);
  Loader loader(TypeConfig("db", 3, 2, DataConfig::FP32), Ranked(LoaderOptions::kEvaluate, 0, 1));
  const auto planes = [](int image) { return Planes(image, 2); };
  ASSERT_NO_FATAL_FAILURE(ExpectNormalized(loader.Next(), 2, planes));
  const Batch& last = loader.Next();
  EXPECT_EQ(last.padding, 2);
  ASSERT_NO_FATAL_FAILURE(ExpectNormalized(last, 2, planes));
  EXPECT_EQ(last.images.as<float>()[last.images.desc.shape.count() - 1], 0);
}

TEST_F(PixelTypeTest, BytesBecomeWordsOrKeepTheirNumbers) {
  WriteBytes(5, 5);
  Loader wide(TypeConfig("db", 5, 5, DataConfig::UINT16), {});
  ASSERT_NO_FATAL_FAILURE(ExpectNormalized(wide.Next(), 5, [](int image) {
    std::vector<int> planes;
    for (const uint8_t byte : Bytes8(image, 5)) planes.push_back(257 * byte);
    return planes;
  }));
  Loader floats(TypeConfig("db", 5, 5, DataConfig::FP32), {});
  ASSERT_NO_FATAL_FAILURE(
      ExpectNormalized(floats.Next(), 5, [](int image) { return Bytes8(image, 5); }));
}

TEST_F(PixelTypeTest, BytesOfFiveChannelsTravelAsTheyAre) {
  WriteBytes(5, 5);
  Loader loader(TypeConfig("db", 5, 5, DataConfig::UINT8), {});
  const Batch& batch = loader.Next();
  ASSERT_EQ(batch.images.desc.dtype, DType::kUINT8);
  EXPECT_EQ(batch.images.desc.shape, (Shape{5, 5, kSize.height, kSize.width}));
  ASSERT_EQ(batch.mean.size(), 5u);
  EXPECT_EQ(batch.mean[4], Mean(4));
  EXPECT_EQ(batch.inverse_std[1], 1 / Std(1));
  const int64_t bytes = 5 * kSize.pixels();
  for (int n = 0; n < 5; ++n) {
    const uint8_t* const image = batch.images.as<uint8_t>() + n * bytes;
    EXPECT_EQ(ToPlanes(std::vector<uint8_t>(image, image + bytes), 5),
              Bytes8(static_cast<int>(batch.labels[n]), 5));
  }
}

TEST_F(PixelTypeTest, FilesOfSixteenBitsKeepThem) {
  for (const int channels : {1, 3}) {
    WriteWords(5, channels);
    for (const auto type : {DataConfig::UINT16, DataConfig::FP32}) {
      Loader loader(TypeConfig("a.tar", 5, channels, type), {});
      ASSERT_NO_FATAL_FAILURE(ExpectNormalized(loader.Next(), channels, [&](int image) {
        return ToPlanes(Words(image, channels), channels);
      }));
    }
  }
}

// Crops and mirrors at random, with images from the data set, from memory and from a file.
TEST_F(PixelTypeTest, CachesChangeNothing) {
  for (const auto type : {DataConfig::UINT8, DataConfig::UINT16, DataConfig::FP32}) {
    if (type == DataConfig::FP32) {
      WriteFloats(9, 5);
    } else if (type == DataConfig::UINT8) {
      WriteBytes(9, 5);
    }
    DataConfig config = TypeConfig("db", 4, 5, type);
    config.set_crop_size(4);
    config.set_random_crop(true);
    config.set_mirror(true);
    std::vector<std::vector<uint8_t>> expected;
    Loader plain(config, {});
    for (int i = 0; i < 8; ++i) expected.push_back(Bytes(plain.Next()));
    EXPECT_NE(expected[0], expected[1]);
    config.set_cache_mib(1);
    for (const char* file : {"", "cache"}) {
      if (*file != 0) config.set_cache_file(folder_ / StrCat(file, static_cast<int>(type)));
      Loader cached(config, {});
      for (int i = 0; i < 8; ++i) EXPECT_EQ(Bytes(cached.Next()), expected[i]) << type << file << i;
      EXPECT_EQ(cached.cached_images(), 9);
    }
    // Read by a later job; pixels of another type do not fit.
    Loader later(config, {});
    EXPECT_EQ(later.cached_images(), 9);
    EXPECT_EQ(Bytes(later.Next()), expected[0]);
    config.set_pixel_type(type == DataConfig::FP32 ? DataConfig::UINT16 : DataConfig::FP32);
    EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("other settings"), std::string::npos);
  }
}

TEST_F(PixelTypeTest, CropsAndMirroredImagesAreParts) {
  WriteFloats(6, 2);
  DataConfig config = TypeConfig("db", 6, 2, DataConfig::FP32);
  config.set_crop_size(3);
  config.set_random_crop(true);
  config.set_mirror(true);
  Loader loader(config, {});
  int mirrored = 0;
  for (int i = 0; i < 6; ++i) {
    const Batch& batch = loader.Next();
    for (int n = 0; n < 6; ++n) {
      const std::vector<float> planes = Planes(static_cast<int>(batch.labels[n]), 2);
      const float* const part = batch.images.as<float>() + n * 2 * 9;
      const auto fits = [&](int top, int left, bool mirror) {
        for (int k = 0; k < 2 * 9; ++k) {
          const int c = k / 9, y = k / 3 % 3, x = mirror ? 2 - k % 3 : k % 3;
          const float value = planes[(c * kSize.height + top + y) * kSize.width + left + x];
          if (part[k] != (value - Mean(c)) / Std(c)) return false;
        }
        return true;
      };
      int found = 0;
      for (int top = 0; top + 3 <= kSize.height; ++top) {
        for (int left = 0; left + 3 <= kSize.width; ++left) {
          for (const bool mirror : {false, true}) {
            if (!fits(top, left, mirror)) continue;
            ++found;
            mirrored += mirror ? 1 : 0;
          }
        }
      }
      EXPECT_EQ(found, 1);
    }
  }
  EXPECT_GT(mirrored, 5);
  EXPECT_LT(mirrored, 31);
}

// With images from the data set and from memory.
TEST_F(PixelTypeTest, ReflectedBordersAreNormalizedLikeTheImage) {
  constexpr int kPad = 4, kHeight = kSize.height + 2 * kPad, kWidth = kSize.width + 2 * kPad;
  const auto expect = [&](DataConfig config, int channels, const auto& planes) {
    config.set_pad(kPad);
    config.set_pad_mode(DataConfig::REFLECT);
    for (const int mib : {0, 1}) {
      config.set_cache_mib(mib);
      Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
      ASSERT_EQ(loader.image_shape(), (Shape{channels, kHeight, kWidth}));
      for (int turn = 0; turn < 2; ++turn) {
        const Batch& batch = loader.Next();
        const float* value = batch.images.as<float>();
        for (int n = 0; n < 3; ++n) {
          const auto image = planes(n);
          for (int k = 0; k < channels * kHeight * kWidth; ++k) {
            const int c = k / kWidth / kHeight, row = Reflected(k / kWidth % kHeight - kPad, 6),
                      column = Reflected(k % kWidth - kPad, 7);
            const auto x = static_cast<float>(image[(c * 6 + row) * 7 + column]);
            ASSERT_EQ(*value++, (x - Mean(c)) / Std(c)) << mib << " " << n << " " << k;
          }
        }
        loader.Seek(0);
      }
    }
  };
  WriteFloats(3, 2);
  expect(TypeConfig("db", 3, 2, DataConfig::FP32), 2, [](int i) { return Planes(i, 2); });
  WriteWords(3, 3);
  expect(TypeConfig("a.tar", 3, 3, DataConfig::UINT16), 3,
         [](int i) { return ToPlanes(Words(i, 3), 3); });
}

TEST_F(PixelTypeTest, ADamagedImageBecomesGray) {
  WriteBytes(3, 2, /*bad=*/1);
  for (const auto type : {DataConfig::UINT8, DataConfig::UINT16, DataConfig::FP32}) {
    DataConfig config = TypeConfig("db", 3, 2, type);
    config.set_on_error(DataConfig::REPLACE);
    Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
    const Batch& batch = loader.Next();
    EXPECT_EQ(batch.labels[1], 1);
    const int64_t count = 2 * kSize.pixels();
    for (int64_t k = count; k < 2 * count; ++k) {
      if (type == DataConfig::UINT8) {
        EXPECT_EQ(batch.images.as<uint8_t>()[k], 128);
        continue;
      }
      const int c = k - count < kSize.pixels() ? 0 : 1;
      const float gray = type == DataConfig::UINT16 ? (32896 - Mean(c)) / Std(c) : 0;
      EXPECT_EQ(batch.images.as<float>()[k], gray) << k;
    }
  }
}

// Planes in the order of the pixels' channels: only three are B, G, R.
TEST_F(PixelTypeTest, AMeanImageHasAnyNumberOfChannels) {
  WriteFloats(4, 8);
  const std::vector<float> mean = NoisePixels<float>(kSize, 8, 50, 99);
  BlobProto blob;
  for (const int dim : {8, kSize.height, kSize.width}) blob.mutable_shape()->add_dim(dim);
  for (const float value : mean) blob.add_data(value);
  WriteFile(folder_ / "mean", blob.SerializeAsString());
  DataConfig config = TypeConfig("db", 4, 8, DataConfig::FP32);
  config.clear_mean();
  config.clear_std();
  config.set_mean_file(folder_ / "mean");
  Loader loader(config, {});
  const Batch& batch = loader.Next();
  for (int n = 0; n < 4; ++n) {
    const std::vector<float> planes = Planes(static_cast<int>(batch.labels[n]), 8);
    const float* const values = batch.images.as<float>() + n * 8 * kSize.pixels();
    for (size_t k = 0; k < planes.size(); ++k) ASSERT_EQ(values[k], planes[k] - mean[k]) << k;
  }
}

TEST_F(PixelTypeTest, PixelsThatDoNotConvertSayWhatToSet) {
  WriteFloats(3, 8);
  const std::string error = ErrorOf([&] {
    Loader loader(Config(folder_ / "db", 2), {});
    loader.Next();
  });
  EXPECT_NE(error.find("8 channels of FP32, expected 3 of UINT8; set channels: 8 and pixel_type: "
                       "FP32"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("data.mdb:10"), std::string::npos) << error;
}

}  // namespace
}  // namespace gf

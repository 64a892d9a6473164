// What gfdata says and makes of data sets whose pixels are not RGB or gray of 8 bits.
#include <cmath>
#include <string>
#include <vector>

#include "core/config/caffe_blob.h"
#include "data/prepare/convert.h"
#include "data/prepare/info.h"
#include "data/prepare/pixel_sums.h"
#include "data/prepare/verify.h"
#include "tests/data/formats/lmdb_util.h"
#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {5, 6};
constexpr int kImages = 70;  // more than a worker takes at a time

class PixelKindsTest : public testing::Test {
 protected:
  static std::vector<float> Floats(int i, int channels) {
    return NoisePixels<float>(kSize, channels, 2 + 0.1 * i, i);
  }
  static std::string DatumOf(int i, int channels, bool floats) {
    if (floats) {
      return FloatDatum(channels, kSize.height, kSize.width, Floats(i, channels), i % 3, true);
    }
    return RawDatum(channels, kSize.height, kSize.width,
                    ToText(NoisePixels<uint8_t>(kSize, channels, 255, i)), i % 3);
  }
  void WriteFloats(int channels) const {
    LmdbRecords records;
    for (int i = 0; i < kImages; ++i) {
      records.emplace_back(StrCat(100 + i), DatumOf(i, channels, true));
    }
    WriteLmdb(folder_ / "db", records);
  }
  // A shard of PNGs of 16 bits.
  static std::vector<uint16_t> Words(int i) { return NoisePixels<uint16_t>(kSize, 3, 65535, i); }
  void WriteWords(int count) const {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < count; ++i) {
      const auto png = EncodePng(Words(i).data(), kSize, {PixelType::kUINT16, 3});
      tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
      tar.Add(StrCat("s", i, ".cls"), "0", 1);
    }
    tar.Close();
  }
  DataSetStatistics Measure(const std::string& source, PixelSums* sums = nullptr) const {
    return MeasureDataSet(
        folder_ / source, "AUTO", 3, [](int64_t, int64_t) {}, sums);
  }

  const TempFolder folder_;
};

TEST_F(PixelKindsTest, InfoCountsThem) {
  WriteLmdb(folder_ / "db", {{"a", DatumOf(0, 1, false)},
                             {"b", DatumOf(1, 5, false)},
                             {"c", DatumOf(2, 5, true)},
                             {"d", DatumOf(3, 1, true)}});
  const std::string text = FormatInfo(InspectDataSet(folder_ / "db", "AUTO"));
  EXPECT_NE(text.find("images     4 (2 grayscale, 2 of 5 channels, 2 of FP32)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("damaged    0\n"), std::string::npos) << text;
}

TEST_F(PixelKindsTest, VerifyNamesThem) {
  WriteLmdb(folder_ / "db", {{"a", DatumOf(0, 3, false)},
                             {"b", DatumOf(1, 5, false)},
                             {"c", DatumOf(2, 5, true)},
                             {"d", RawDatum(5, kSize.height, kSize.width, "short", 0)}});
  const Verification result = VerifyDataSet(folder_ / "db", "AUTO", 2, [](int64_t, int64_t) {});
  EXPECT_EQ(result.damaged.size(), 1u);
  EXPECT_EQ(result.oddities.size(), 2u);
  EXPECT_EQ(result.oddities.at("UINT8 with 5 channels"), 1);
  EXPECT_EQ(result.oddities.at("FP32 with 5 channels"), 1);
}

TEST_F(PixelKindsTest, MeanAndDeviationAreThoseOfEachChannel) {
  WriteFloats(8);
  const DataSetStatistics result = Measure("db");
  EXPECT_EQ(result.images, kImages);
  EXPECT_EQ(result.format, (PixelFormat{PixelType::kFP32, 8}));
  ASSERT_EQ(result.mean.size(), 8u);
  ASSERT_EQ(result.std.size(), 8u);
  const int64_t plane = kSize.pixels();
  for (int c = 0; c < 8; ++c) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kImages; ++i) {
      const std::vector<float> values = Floats(i, 8);
      for (int64_t p = c * plane; p < (c + 1) * plane; ++p) {
        sum += values[p];
        squares += double{values[p]} * values[p];
      }
    }
    const double count = static_cast<double>(kImages * plane), mean = sum / count;
    EXPECT_NEAR(result.mean[c], mean, 1e-9);
    EXPECT_NEAR(result.std[c], std::sqrt(squares / count - mean * mean), 1e-9);
  }
}

TEST_F(PixelKindsTest, WordsHaveTheirOwnUnits) {
  WriteWords(9);
  const DataSetStatistics result = Measure("a.tar");
  EXPECT_EQ(result.format, (PixelFormat{PixelType::kUINT16, 3}));
  for (int c = 0; c < 3; ++c) {
    double sum = 0;
    for (int i = 0; i < 9; ++i) {
      const std::vector<uint16_t> words = Words(i);
      for (size_t k = c; k < words.size(); k += 3) sum += words[k];
    }
    EXPECT_NEAR(result.mean[c], sum / static_cast<double>(9 * kSize.pixels()), 1e-6);
  }
}

TEST_F(PixelKindsTest, TheMeanImageHasThePlanesOfTheFile) {
  WriteFloats(8);
  PixelSums sums;
  Measure("db", &sums);
  EXPECT_EQ(sums.shape(), (Shape{8, kSize.height, kSize.width}));
  sums.WriteMean(folder_ / "mean");
  const CaffeBlob blob = ReadCaffeBlob(folder_ / "mean");
  EXPECT_EQ(blob.shape, (Shape{1, 8, kSize.height, kSize.width}));
  for (size_t k = 0; k < blob.values.size(); ++k) {
    double sum = 0;
    for (int i = 0; i < kImages; ++i) sum += Floats(i, 8)[k];
    ASSERT_NEAR(blob.values[k], sum / kImages, 1e-5) << k;
  }
}

TEST_F(PixelKindsTest, KindsThatDifferAreNamed) {
  WriteLmdb(folder_ / "db", {{"a", DatumOf(0, 5, false)}, {"b", DatumOf(1, 5, true)}});
  const std::string error = ErrorOf([&] { Measure("db"); });
  EXPECT_NE(error.find("data.mdb:b:1: an image of FP32 with 5 channels, but "), std::string::npos)
      << error;
  EXPECT_NE(error.find("data.mdb:a:0 has UINT8 with 5 channels"), std::string::npos) << error;
  WriteLmdb(folder_ / "mixed", {{"a", DatumOf(0, 1, false)}, {"b", DatumOf(1, 3, false)}});
  EXPECT_EQ(Measure("mixed").format, PixelFormat());
}

ConvertOptions To(const std::string& from, const std::string& to, const std::string& format) {
  ConvertOptions options;
  options.from = from;
  options.to = to;
  options.format = format;
  return options;
}

TEST_F(PixelKindsTest, ResizedPngsKeepTheirSixteenBits) {
  WriteWords(2);
  ConvertOptions options = To(folder_ / "a.tar", folder_ / "out", "FOLDER");
  options.resize = ParseResize("4x3");
  EXPECT_EQ(ConvertDataSet(options).written, 2);
  const auto source = OpenSource("AUTO", {folder_ / "out", false});
  Record record;
  source->Read(0, &record);
  const ImageInfo info = RecordInfo(record);
  EXPECT_STREQ(info.format, "PNG");
  EXPECT_EQ(info.pixel_format(), (PixelFormat{PixelType::kUINT16, 3}));
  EXPECT_EQ(info.size, (ImageSize{4, 3}));
}

TEST_F(PixelKindsTest, OnlyAnLmdbHoldsFloats) {
  WriteFloats(2);
  const std::string error =
      ErrorOf([&] { ConvertDataSet(To(folder_ / "db", folder_ / "out", "TAR")); });
  EXPECT_NE(error.find("an image of FP32 with 2 channels fits neither a PNG nor a JPEG"),
            std::string::npos)
      << error;
  EXPECT_NE(ErrorOf([&] {
              ConvertDataSet(To(folder_ / "db", folder_ / "out", "IDX"));
            }).find("an image of FP32 with 2 channels, and idx holds UINT8"),
            std::string::npos);
  EXPECT_EQ(ConvertDataSet(To(folder_ / "db", folder_ / "copy", "LMDB")).written, kImages);
  const auto before = OpenSource("AUTO", {folder_ / "db", false});
  const auto after = OpenSource("AUTO", {folder_ / "copy", false});
  Record from, to;
  for (int i = 0; i < kImages; ++i) {
    before->Read(i, &from);
    after->Read(i, &to);
    ASSERT_EQ(to.raw_format, from.raw_format);
    ASSERT_EQ(std::string(to.data, to.data + to.size),
              std::string(from.data, from.data + from.size));
  }
}

}  // namespace
}  // namespace gf

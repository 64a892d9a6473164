// The messages in Caffe's databases.
#include "data/formats/datum.h"

#include <cmath>

#include "data/formats/record_source.h"
#include "tests/data/formats/lmdb_util.h"
#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

TEST(Datum, FloatsAreReadSinglyAndPacked) {
  TempFolder folder;
  std::vector<float> planes;
  for (int i = 0; i < 8 * 2; ++i) planes.push_back(0.5f * static_cast<float>(i) - 3);
  const auto real = [&](int label, bool packed) {
    return FloatDatum(8, 1, 2, planes, label, packed);
  };
  // In two parts, with the label between them.
  const std::vector<float> first(planes.begin(), planes.begin() + 5);
  const std::vector<float> rest(planes.begin() + 5, planes.end());
  const std::string parts = FloatDatum(8, 1, 2, first, 2, false) + FloatsField(rest, true);
  WriteLmdb(folder / "db", {{"a", real(0, false)}, {"b", real(1, true)}, {"c", parts}});
  const auto source = OpenSource("AUTO", {folder / "db", false});
  for (int i = 0; i < 3; ++i) {
    Record record;
    source->Read(i, &record);
    EXPECT_EQ(record.label, i);
    EXPECT_EQ(record.raw_format, (PixelFormat{PixelType::kFP32, 8}));
    ASSERT_EQ(record.size, sizeof(float) * 16);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(record.data) % sizeof(float), 0u);
    const auto* const pixels = reinterpret_cast<const float*>(record.data);
    for (int p = 0; p < 2; ++p) {
      for (int c = 0; c < 8; ++c) EXPECT_EQ(pixels[p * 8 + c], planes[c * 2 + p]) << i;
    }
  }
}

TEST(Datum, LargeFloatImagesAreReadFromPagesOfTheirOwn) {
  TempFolder folder;
  const auto planes = NoisePixels<float>({50, 60}, 2, 1000);
  WriteLmdb(folder / "db", {{"a", FloatDatum(2, 50, 60, planes, 1, false)},
                            {"b", FloatDatum(2, 50, 60, planes, 3, true)}});
  const auto source = OpenSource("AUTO", {folder / "db", false});
  EXPECT_EQ(source->Label(0), 1);
  EXPECT_EQ(source->Label(1), 3);
  for (int i = 0; i < 2; ++i) {
    Record record;
    source->Read(i, &record);
    const auto* const pixels = reinterpret_cast<const float*>(record.data);
    for (int p = 0; p < 3000; ++p) ASSERT_EQ(pixels[2 * p + 1], planes[3000 + p]) << i;
  }
}

TEST(Datum, OnlyTheFirstThreeOfThreeAndFourChannelsAreSwapped) {
  TempFolder folder;
  WriteLmdb(folder / "db", {{"a", RawDatum(4, 1, 2, "bBgGrRaA", 0)},
                            {"b", RawDatum(2, 1, 2, "xXyY", 0)},
                            {"c", RawDatum(5, 1, 1, "abcde", 0)},
                            {"d", FloatDatum(3, 1, 1, {1, 2, 3}, 0, false)}});
  const auto source = OpenSource("AUTO", {folder / "db", false});
  Record record;
  const std::vector<std::string> expected = {"rgbaRGBA", "xyXY", "abcde"};
  for (int i = 0; i < 3; ++i) {
    source->Read(i, &record);
    EXPECT_EQ(std::string(record.data, record.data + record.size), expected[i]);
  }
  source->Read(3, &record);
  const auto* const floats = reinterpret_cast<const float*>(record.data);
  EXPECT_EQ(std::vector<float>(floats, floats + 3), (std::vector<float>{3, 2, 1}));
}

std::string DatumError(const std::string& bytes) {
  return ErrorOf([&] {
    // On the heap in its exact size, so that sanitizers see a read beyond it.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    const Datum datum = ParseDatum(exact.data(), exact.size());
    const ImageSize size = CheckRawDatum(datum);
    std::vector<uint8_t> pixels(size.pixels() * RawFormat(datum).bytes());
    ReadRawDatum(datum, pixels.data());
  });
}

TEST(Datum, WrongMessagesAreExplained) {
  EXPECT_NE(DatumError(RawDatum(17, 1, 1, "xy", 1)).find("17 channels, expected 1 to 16"),
            std::string::npos);
  EXPECT_NE(DatumError(RawDatum(0, 1, 1, "", 1)).find("0 channels"), std::string::npos);
  EXPECT_NE(DatumError(RawDatum(1, 3, 1, "xy", 1)).find("expected 3"), std::string::npos);
  EXPECT_NE(DatumError(RawDatum(1, 0, 1, "", 1)).find("0x1"), std::string::npos);
  EXPECT_NE(DatumError(NumberField(1, uint64_t{1} << 62) + NumberField(2, 1u << 31) +
                       NumberField(3, 1u << 31))
                .find("expected"),
            std::string::npos);
  EXPECT_NE(DatumError(NumberField(4, 3)).find("wrong type"), std::string::npos);
  EXPECT_NE(DatumError(Varint(4 * 8 + 2) + Varint(1000) + "x").find("cut"), std::string::npos);
}

TEST(Datum, WrongFloatsAreExplained) {
  EXPECT_NE(DatumError(FloatDatum(2, 1, 2, {1, 2, 3}, 0, false)).find("3 floats of pixels, exp"),
            std::string::npos);
  EXPECT_NE(DatumError(FloatDatum(1, 1, 1, {NAN}, 0, true)).find("a pixel is nan"),
            std::string::npos);
  EXPECT_NE(DatumError(FloatDatum(1, 1, 1, {INFINITY}, 0, false)).find("a pixel is inf"),
            std::string::npos);
  EXPECT_NE(DatumError(BytesField(6, "12345")).find("floats are cut"), std::string::npos);
  EXPECT_NE(DatumError(Varint(6 * 8 + 2) + Varint(1000) + "xxxx").find("cut"), std::string::npos);
  EXPECT_NE(DatumError(Varint(6 * 8 + 5) + "xx").find("cut"), std::string::npos);
  EXPECT_NE(DatumError(NumberField(6, 3)).find("wrong type"), std::string::npos);
}

// As in Caffe.
TEST(Datum, FloatsInManyPiecesAreRefused) {
  // Two floats make a piece each: one packed, one alone.
  std::string floats;
  for (int i = 0; i < 512; ++i) floats += FloatsField({1}, true) + FloatsField({2}, false);
  const std::string most = FloatDatum(1, 32, 32, {}, 5, true) + floats;
  EXPECT_EQ(ParseDatum(reinterpret_cast<const uint8_t*>(most.data()), most.size()).floats.size(),
            1024u);
  EXPECT_NE(DatumError(most + FloatsField({1}, true)).find("more than 1024 pieces"),
            std::string::npos);
}

TEST(Datum, BytesCountBeforeFloats) {
  const std::string bytes = RawDatum(1, 1, 2, "xy", 1) + FloatsField({1, 2}, false);
  const Datum datum = ParseDatum(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  EXPECT_EQ(RawFormat(datum), (PixelFormat{PixelType::kUINT8, 1}));
  uint8_t pixels[2];
  CheckRawDatum(datum);
  ReadRawDatum(datum, pixels);
  EXPECT_EQ(pixels[1], 'y');
}

TEST(Datum, EveryTruncationOfFloatsIsAnErrorOrComplete) {
  for (const bool packed : {false, true}) {
    const std::string whole = FloatDatum(2, 1, 3, {1, 2, 3, 4, 5, 6}, 5, packed);
    for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
      EXPECT_NE(DatumError(whole.substr(0, bytes)).find("Datum: "), std::string::npos) << bytes;
    }
  }
}

TEST(Datum, EveryTruncationIsAnErrorOrComplete) {
  const std::string whole = RawDatum(3, 2, 2, "123456789abc", 5);
  for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    EXPECT_NE(DatumError(whole.substr(0, bytes)).find("Datum: "), std::string::npos);
  }
}

}  // namespace
}  // namespace gf

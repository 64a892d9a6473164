// Caffe's databases.
#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"
#include "tests/data/formats/lmdb_util.h"
#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

std::string Pixels(const RecordSource& source, int64_t i) {
  Record record;
  source.Read(i, &record);
  EXPECT_TRUE(record.raw);
  return std::string(record.data, record.data + record.size);
}

TEST(LmdbSource, RawAndEncodedImagesAreReadInTheOrderOfTheKeys) {
  TempFolder folder;
  // Planes of blue, green, red, as Caffe's tools write them.
  const std::string planes = "bBgGrR", png = FlatPng({5, 4}, 88);
  WriteLmdb(folder / "db", {{"00000001_b.jpg", EncodedDatum(png, 2)},
                            {"00000000_a.jpg", RawDatum(3, 1, 2, planes, 7)},
                            {"00000002_c", RawDatum(1, 2, 1, "xy", 0)}});
  const auto source = OpenSource("AUTO", {folder / "db", false});
  EXPECT_EQ(source->Describe(), "LMDB, 3 images, 8 classes");
  EXPECT_EQ(Pixels(*source, 0), "rgbRGB");
  EXPECT_EQ(Pixels(*source, 2), "xy");
  EXPECT_EQ(source->Label(0), 7);
  EXPECT_EQ(source->Key(1), "00000001_b.jpg");
  EXPECT_NE(source->Where(1).find("data.mdb:00000001_b.jpg:1"), std::string::npos);
  Record record;
  source->Read(1, &record);
  EXPECT_FALSE(record.raw);
  EXPECT_EQ(record.label, 2);
  EXPECT_EQ(std::string(record.data, record.data + record.size), png);
  EXPECT_EQ(OpenSource("AUTO", {folder / "db/data.mdb", false})->size(), 3);
}

TEST(LmdbSource, ManyLargeRecordsAreRead) {
  TempFolder folder;
  std::vector<std::pair<std::string, std::string>> records;
  for (int i = 0; i < 500; ++i) {
    records.emplace_back(StrCat(10000 + i),
                         RawDatum(1, 100, 90, std::string(9000, static_cast<char>(i)), i));
  }
  WriteLmdb(folder / "db", records);
  const auto source = OpenSource("LMDB", {folder / "db", false});
  ASSERT_EQ(source->size(), 500);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(Pixels(*source, i), std::string(9000, static_cast<char>(i)));
  }
}

TEST(LmdbSource, TruncatedAnywhereGivesAnErrorThatNamesTheFile) {
  TempFolder folder;
  std::vector<std::pair<std::string, std::string>> records;
  for (int i = 0; i < 40; ++i) {
    records.emplace_back(StrCat(10 + i), RawDatum(1, 60, 90, std::string(5400, 'x'), i));
  }
  WriteLmdb(folder / "db", records);
  const std::string whole = ReadFile(folder / "db/data.mdb");
  for (size_t bytes = 0; bytes + 1 < whole.size(); bytes += bytes < 9000 ? 501 : 4096) {
    WriteFile(folder / "cut/data.mdb", whole.substr(0, bytes));
    const std::string message = ErrorOf([&] { OpenSource("LMDB", {folder / "cut", false}); });
    EXPECT_NE(message.find("data.mdb"), std::string::npos) << message;
  }
  WriteFile(folder / "cut/data.mdb", std::string(20000, 'g'));
  EXPECT_NE(ErrorOf([&] {
              OpenSource("LMDB", {folder / "cut", false});
            }).find("data.mdb"),
            std::string::npos);
}

TEST(LmdbSource, BadRecordsAreNamedOrLeftOut) {
  TempFolder folder;
  WriteLmdb(folder / "db", {{"a", RawDatum(1, 1, 2, "xy", 1)},
                            {"b", "\xff\xff\xff"},
                            {"c", RawDatum(1, 1, 2, "xyz", 1)}});
  EXPECT_NE(ErrorOf([&] {
              OpenSource("LMDB", {folder / "db", false});
            }).find("data.mdb:b:1"),
            std::string::npos);
  const auto source = OpenSource("LMDB", {folder / "db", true});
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->skipped(), 1);
  Record record;
  EXPECT_THROW(source->Read(1, &record), SampleError);
}

// A database of 30 images on pages of their own.
std::string LargeImages(const std::string& folder) {
  LmdbRecords records;
  for (int i = 0; i < 30; ++i) {
    records.emplace_back(StrCat(10 + i), RawDatum(1, 90, 90, std::string(8100, 'x'), i));
  }
  WriteLmdb(folder, records);
  return folder + "/data.mdb";
}

// A mapped file would end the process here.
TEST(LmdbSource, AFileThatShrinksOrChangesWhileItIsReadIsADamagedSample) {
  TempFolder folder;
  const std::string path = LargeImages(folder / "db");
  const auto source = OpenSource("LMDB", {folder / "db", false});
  const std::string whole = ReadFile(path);
  std::filesystem::resize_file(path, 4096);
  Record record;
  EXPECT_NE(ErrorOf([&] { source->Read(29, &record); }).find("has become shorter"),
            std::string::npos);
  WriteFile(path, std::string(whole.size(), '\0'));
  EXPECT_NE(ErrorOf([&] { source->Read(29, &record); }).find("Datum: "), std::string::npos);
  LmdbRecords other;
  for (int i = 0; i < 30; ++i) {
    other.emplace_back(StrCat(10 + i), RawDatum(1, 90, 90, std::string(8100, 'y'), i + 1));
  }
  WriteLmdb(folder / "other", other);
  WriteFile(path, ReadFile(folder / "other/data.mdb"));
  EXPECT_NE(ErrorOf([&] { source->Read(29, &record); }).find("changed since it was opened"),
            std::string::npos);
}

TEST(LmdbSource, ALabelThatNoNetHasIsRefusedWithItsRecord) {
  TempFolder folder;
  WriteLmdb(folder / "db",
            {{"a", RawDatum(1, 1, 1, "x", 1)}, {"b", RawDatum(1, 1, 1, "x", 200000000)}});
  const std::string message = ErrorOf([&] { OpenSource("LMDB", {folder / "db", false}); });
  EXPECT_NE(message.find("data.mdb:b:1: label 200000000, expected a class index 0 to 1048575"),
            std::string::npos)
      << message;
}

// Writes the records as "db" below the folder.
void WriteWithOurs(const std::string& folder, const std::vector<Record>& records, int quality) {
  std::filesystem::create_directories(folder + "/db");
  WriterOptions options;
  options.folder = folder + "/db";
  options.count = static_cast<int64_t>(records.size());
  options.quality = quality;
  options.class_names = {"cat", "dog"};
  const auto writer = WriterRegistry::Get().Create("data format", "LMDB", options);
  for (size_t i = 0; i < records.size(); ++i) writer->Add(records[i], StrCat("name", i));
  writer->Finish();
}

Record RawRecord(const std::string& pixels, ImageSize size, int channels, int64_t label) {
  Record record;
  record.data = reinterpret_cast<const uint8_t*>(pixels.data());
  record.size = pixels.size();
  record.raw = true;
  record.raw_size = size;
  record.raw_format = {PixelType::kUINT8, channels};
  record.label = label;
  return record;
}

TEST(LmdbWriter, WritesWhatCaffeReads) {
  TempFolder folder;
  const std::string png = FlatPng({5, 4}, 88), color = "rgbRGB", gray = "xy";
  Record encoded;
  encoded.data = reinterpret_cast<const uint8_t*>(png.data());
  encoded.size = png.size();
  encoded.label = 1;
  std::vector<Record> records;
  records.push_back(std::move(encoded));
  records.push_back(RawRecord(color, {1, 2}, 3, 0));
  records.push_back(RawRecord(gray, {2, 1}, 1, 1));
  WriteWithOurs(folder.path(), records, 0);
  // Caffe's fields, planes of blue, green and red first.
  const LmdbRecords expected = {
      {"00000000_name0", BytesField(4, png) + NumberField(5, 1) + NumberField(7, 1)},
      {"00000001_name1", RawDatum(3, 1, 2, "bBgGrR", 0)},
      {"00000002_name2", RawDatum(1, 2, 1, "xy", 1)}};
  EXPECT_EQ(ReadLmdb(folder / "db"), expected);
  const auto source = OpenSource("AUTO", {folder / "db", false});
  EXPECT_EQ(source->Describe(), "LMDB, 3 images, 2 classes");
  EXPECT_EQ(source->ClassNames()[1], "dog");
  EXPECT_EQ(Pixels(*source, 1), color);
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(std::string(record.data, record.data + record.size), png);
  EXPECT_FALSE(std::filesystem::exists(folder / "db/lock.mdb"));
}

TEST(LmdbWriter, WithAQualityRawImagesBecomeJpegs) {
  TempFolder folder;
  const std::string pixels(64, 'x');
  std::vector<Record> records;
  records.push_back(RawRecord(pixels, {8, 8}, 1, 0));
  WriteWithOurs(folder.path(), records, 90);
  Record record;
  OpenSource("AUTO", {folder / "db", false})->Read(0, &record);
  EXPECT_FALSE(record.raw);
  EXPECT_STREQ(ProbeImage(record.data, record.size).format, "JPEG");
}

// The file outgrows the map with which it began many times over.
TEST(LmdbWriter, TheMapGrowsWithTheFile) {
  TempFolder folder;
  constexpr int kImages = 3000;
  std::vector<std::string> pixels;
  std::vector<Record> records;
  for (int i = 0; i < kImages; ++i) {
    const int side = i % 3 == 0 ? 200 : 20;
    pixels.emplace_back(side * side, static_cast<char>(i));
  }
  for (int i = 0; i < kImages; ++i) {
    const int side = i % 3 == 0 ? 200 : 20;
    records.push_back(RawRecord(pixels[i], {side, side}, 1, i % 2));
  }
  WriteWithOurs(folder.path(), records, 0);
  const LmdbRecords there = ReadLmdb(folder / "db");
  ASSERT_EQ(there.size(), size_t{kImages});
  const auto source = OpenSource("AUTO", {folder / "db", false});
  for (int i = 0; i < kImages; ++i) {
    ASSERT_EQ(Pixels(*source, i), pixels[i]) << i;
    ASSERT_EQ(source->Label(i), i % 2);
  }
  // 42 MB of pixels.
  EXPECT_LT(std::filesystem::file_size(folder / "db/data.mdb"), size_t{50} << 20);
}

// The pixels of raw records that went through a database.
template <typename T>
std::vector<T> ThroughDatabase(const std::vector<T>& pixels, PixelFormat format,
                               PixelFormat expected) {
  TempFolder folder;
  Record record;
  record.data = reinterpret_cast<const uint8_t*>(pixels.data());
  record.size = pixels.size() * sizeof(T);
  record.raw = true;
  record.raw_size = {3, 2};
  record.raw_format = format;
  std::vector<Record> records;
  records.push_back(std::move(record));
  WriteWithOurs(folder.path(), records, 0);
  Record found;
  OpenSource("AUTO", {folder / "db", false})->Read(0, &found);
  EXPECT_EQ(found.raw_format, expected);
  EXPECT_EQ(found.raw_size, (ImageSize{3, 2}));
  std::vector<T> result;
  if (expected.type == PixelType::kFP32) {
    const auto* const floats = reinterpret_cast<const float*>(found.data);
    result.assign(floats, floats + found.size / sizeof(float));
  } else {
    result.assign(found.data, found.data + found.size);
  }
  return result;
}

TEST(LmdbWriter, EveryFormatOfPixelsComesBack) {
  for (int channels = 1; channels <= kMaxChannels; ++channels) {
    const PixelFormat bytes = {PixelType::kUINT8, channels}, words = {PixelType::kUINT16, channels},
                      floats = {PixelType::kFP32, channels};
    const auto narrow = NoisePixels<uint8_t>({3, 2}, channels, 255);
    EXPECT_EQ(ThroughDatabase(narrow, bytes, bytes), narrow);
    const auto wide = NoisePixels<uint16_t>({3, 2}, channels, 65535);
    EXPECT_EQ(ThroughDatabase(wide, words, floats), wide);
    const auto real = NoisePixels<float>({3, 2}, channels, -1e9);
    EXPECT_EQ(ThroughDatabase(real, floats, floats), real);
  }
}

}  // namespace
}  // namespace gf

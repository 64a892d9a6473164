// Caffe's databases and the messages in them.
#include <lmdb.h>

#include "data/formats/datum.h"
#include "data/formats/record_source.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

std::string NumberField(int field, uint64_t value) { return Varint(field * 8) + Varint(value); }
std::string BytesField(int field, const std::string& bytes) {
  return Varint(field * 8 + 2) + Varint(bytes.size()) + bytes;
}

std::string RawDatum(int channels, int height, int width, const std::string& pixels, int label) {
  return NumberField(1, channels) + NumberField(2, height) + NumberField(3, width) +
         BytesField(4, pixels) + NumberField(5, label);
}

std::string EncodedDatum(const std::string& image, int label) {
  return NumberField(5, label) + NumberField(7, 1) + BytesField(4, image);
}

// Writes a database of key and value in the folder.
void WriteLmdb(const std::string& folder,
               const std::vector<std::pair<std::string, std::string>>& records) {
  std::filesystem::create_directories(folder);
  MDB_env* environment;
  ASSERT_EQ(mdb_env_create(&environment), 0);
  ASSERT_EQ(mdb_env_set_mapsize(environment, 64 << 20), 0);
  ASSERT_EQ(mdb_env_open(environment, folder.c_str(), 0, 0644), 0);
  MDB_txn* transaction;
  ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
  MDB_dbi database;
  ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &database), 0);
  for (const auto& record : records) {
    MDB_val key = {record.first.size(), const_cast<char*>(record.first.data())};
    MDB_val value = {record.second.size(), const_cast<char*>(record.second.data())};
    ASSERT_EQ(mdb_put(transaction, database, &key, &value, 0), 0);
  }
  ASSERT_EQ(mdb_txn_commit(transaction), 0);
  mdb_env_close(environment);
}

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

std::string DatumError(const std::string& bytes) {
  return ErrorOf([&] {
    // On the heap in its exact size, so that sanitizers see a read beyond it.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    const Datum datum = ParseDatum(exact.data(), exact.size());
    CheckRawDatum(datum);
  });
}

TEST(Datum, WrongMessagesAreExplained) {
  EXPECT_NE(DatumError(RawDatum(2, 1, 1, "xy", 1)).find("2 channels"), std::string::npos);
  EXPECT_NE(DatumError(RawDatum(1, 3, 1, "xy", 1)).find("expected 3"), std::string::npos);
  EXPECT_NE(DatumError(RawDatum(1, 0, 1, "", 1)).find("0x1"), std::string::npos);
  EXPECT_NE(DatumError(NumberField(1, uint64_t{1} << 62) + NumberField(2, 1u << 31) +
                       NumberField(3, 1u << 31))
                .find("expected"),
            std::string::npos);
  EXPECT_NE(DatumError(BytesField(6, "1234")).find("floats"), std::string::npos);
  EXPECT_NE(DatumError(NumberField(4, 3)).find("wrong type"), std::string::npos);
  EXPECT_NE(DatumError(Varint(4 * 8 + 2) + Varint(1000) + "x").find("cut"), std::string::npos);
}

TEST(Datum, EveryTruncationIsAnErrorOrComplete) {
  const std::string whole = RawDatum(3, 2, 2, "123456789abc", 5);
  for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    EXPECT_NE(DatumError(whole.substr(0, bytes)).find("Datum: "), std::string::npos);
  }
}

}  // namespace
}  // namespace gf

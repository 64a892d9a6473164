// The reader of LMDB's pages, beside liblmdb and on damaged files.
#include "data/formats/lmdb_file.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/random.h"
#include "data/formats/record_source.h"
#include "tests/data/formats/lmdb_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

LmdbRecords Read(const std::string& path) {
  const InputFile file(path);
  LmdbRecords records;
  LmdbFile(&file).ForEach([&](const LmdbRecord& record) {
    std::string value(record.bytes, '\0');
    EXPECT_EQ(file.ReadAt(record.offset, &value[0], value.size()), value.size());
    if (record.value) {
      EXPECT_EQ(std::memcmp(record.value, value.data(), value.size()), 0);
    }
    records.emplace_back(std::string(record.key), value);
  });
  return records;
}

// Values from nothing to several pages; long keys make the tree deep.
LmdbRecords ManyRecords(int count, size_t key_bytes) {
  LmdbRecords records;
  Random random(1, 1);
  for (int i = 0; i < count; ++i) {
    std::string key = StrCat(100000 + random.Below(800000), "_", i);
    key.resize(std::max(key.size(), key_bytes), 'k');
    const size_t bytes = i % 7 == 0 ? random.Below(20000) : random.Below(300);
    records.emplace_back(key, std::string(bytes, static_cast<char>(i)));
  }
  return records;
}

TEST(LmdbFile, ReadsWhatLiblmdbReads) {
  for (const int count : {0, 1, 2, 50, 3000}) {
    for (const size_t key_bytes : {1, 400}) {
      TempFolder folder;
      WriteLmdb(folder / "db", ManyRecords(count, key_bytes));
      const LmdbRecords expected = ReadLmdb(folder / "db");
      EXPECT_EQ(expected.size(), static_cast<size_t>(count));
      EXPECT_EQ(Read(folder / "db/data.mdb"), expected) << count << " " << key_bytes;
    }
  }
}

TEST(LmdbFile, ReadsWhatSeveralTransactionsLeave) {
  TempFolder folder;
  LmdbRecords records = ManyRecords(300, 100);
  for (size_t i = 0; i < records.size(); i += 40) {
    // The second half of each part comes again with another value.
    LmdbRecords part(records.begin() + i, records.begin() + std::min(i + 80, records.size()));
    for (auto& record : part) record.second += std::string(i * 10, '+');
    WriteLmdb(folder / "db", part);
    EXPECT_EQ(Read(folder / "db/data.mdb"), ReadLmdb(folder / "db")) << i;
  }
}

void Put(std::string* file, size_t at, uint64_t value, size_t bytes) {
  std::memcpy(&(*file)[at], &value, bytes);
}

// A database that another machine with pages of this size has written: headers, a branch, two
// leaves, and a value on pages of its own.
std::string SmallLmdb(size_t page) {
  const std::string big(2 * page, 'b');
  std::string file(8 * page, '\0');
  const auto header = [&](uint64_t number, uint64_t kind, size_t lower, size_t upper) {
    Put(&file, number * page, number, 8);
    Put(&file, number * page + 10, kind, 2);
    Put(&file, number * page + 12, lower, 2);
    Put(&file, number * page + 14, upper, 2);
  };
  const auto node = [&](uint64_t number, int slot, size_t at, uint64_t low, int flags,
                        const std::string& key, const std::string& value) {
    Put(&file, number * page + 16 + 2 * slot, at, 2);
    Put(&file, number * page + at, low, 4);
    Put(&file, number * page + at + 4, flags, 2);
    Put(&file, number * page + at + 6, key.size(), 2);
    file.replace(number * page + at + 8, key.size() + value.size(), key + value);
  };
  for (const uint64_t number : {0, 1}) {
    const size_t at = number * page;
    header(number, 8, 0, 0);
    Put(&file, at + 16, 0xbeefc0de, 4);
    Put(&file, at + 20, 1, 4);
    Put(&file, at + 40, page, 4);
    Put(&file, at + 80, ~uint64_t{0}, 8);  // no list of free pages
    Put(&file, at + 94, 2, 2);             // depth
    Put(&file, at + 96, 1, 8);
    Put(&file, at + 104, 2, 8);
    Put(&file, at + 112, 3, 8);
    Put(&file, at + 120, 3, 8);  // records
    Put(&file, at + 128, 2, 8);  // root
    Put(&file, at + 136, 7, 8);
    Put(&file, at + 144, number, 8);
  }
  header(2, 1, 16 + 4, page - 20);
  node(2, 0, page - 8, 3, 0, "", "");
  node(2, 1, page - 20, 4, 0, "k3", "");
  header(3, 2, 16 + 4, page - 32);
  std::string first_page(8, '\0');
  Put(&first_page, 0, 5, 8);
  node(3, 0, page - 18, big.size(), 1, "k1", first_page);
  node(3, 1, page - 32, 3, 0, "k2", "two");
  header(4, 2, 16 + 2, page - 16);
  node(4, 0, page - 16, 5, 0, "k3", "three");
  header(5, 4, 3, 0);
  file.replace(5 * page + 16, big.size(), big);
  return file;
}

TEST(LmdbFile, ReadsPagesOfEverySize) {
  for (const size_t page : {512, 4096, 16384, 32768}) {
    TempFolder folder;
    WriteFile(folder / "db/data.mdb", SmallLmdb(page));
    const LmdbRecords expected = {
        {"k1", std::string(2 * page, 'b')}, {"k2", "two"}, {"k3", "three"}};
    EXPECT_EQ(ReadLmdb(folder / "db"), expected) << page;
    EXPECT_EQ(Read(folder / "db/data.mdb"), expected) << page;
  }
}

// The message for a small database in which something is changed.
std::string ErrorAfter(const std::function<void(std::string*)>& change) {
  TempFolder folder;
  std::string file = SmallLmdb(512);
  change(&file);
  WriteFile(folder / "data.mdb", file);
  return ErrorOf([&] { Read(folder / "data.mdb"); });
}

// The same for a number of `bytes` bytes.
std::string ErrorWith(size_t at, uint64_t value, size_t bytes) {
  return ErrorAfter([&](std::string* file) { Put(file, at, value, bytes); });
}

TEST(LmdbFile, EachKindOfDamageIsNamedWithItsPage) {
  constexpr size_t kPage = 512;
  const auto expect = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message << "\nhas no: " << words;
    EXPECT_NE(message.find("data.mdb:"), std::string::npos) << message;
  };
  expect(ErrorWith(16, 1, 4), ":0: no LMDB");
  expect(ErrorWith(kPage + 16, 1, 4), ":512: page 1: it is no header");
  expect(ErrorWith(20, 2, 4), "version 2, expected 1");
  expect(ErrorWith(40, 0, 4), "pages of 0 bytes");
  expect(ErrorWith(40, 513, 4), "pages of 513 bytes");
  expect(ErrorWith(kPage + 40, 1024, 4), "and page 0 says 512");
  expect(ErrorWith(kPage + 136, 8, 8), "has pages up to 8 of 512 bytes");
  expect(ErrorWith(kPage + 92, 4, 2), "several values per key");
  expect(ErrorWith(kPage + 94, 33, 2), "page 1: a tree of depth 33");
  expect(ErrorWith(kPage + 94, 0, 2), "page 1: a tree of depth 0");
  expect(ErrorWith(kPage + 94, 1, 2), "page 2: it is of kind 1, expected 2, a leaf");
  expect(ErrorWith(kPage + 94, 3, 2), "page 3: it is of kind 2, expected 1, a branch");
  expect(ErrorWith(kPage + 120, 4, 8), "counts 4 records, the pages hold 3");
  expect(ErrorWith(kPage + 128, 1, 8), "page 1: it points to page 1, and pages are 2 to 7");
  expect(ErrorWith(kPage + 128, 8, 8), "page 1: it points to page 8, and pages are 2 to 7");
  expect(ErrorWith(2 * kPage, 3, 8), "page 2: it says that it is page 3");
  expect(ErrorWith(2 * kPage + 12, 15, 2), "its free space is 15 to 492 of 512");
  expect(ErrorWith(2 * kPage + 12, 17, 2), "its free space is 17");
  expect(ErrorWith(2 * kPage + 12, 494, 2), "its free space is 494 to 492");
  expect(ErrorWith(2 * kPage + 14, 513, 2), "to 513 of 512");
  expect(ErrorWith(2 * kPage + 16, 505, 2), "a node at 505, expected 492 to 504");
  expect(ErrorWith(2 * kPage + 16, 490, 2), "a node at 490");
  expect(ErrorWith(2 * kPage + 504, 2, 4), "page 2: it points to page 2, and so does another");
  expect(ErrorWith(2 * kPage + 508, 1, 2), "it points to page 4294967299");
  expect(ErrorWith(2 * kPage + 510, 1, 2), "page 2: a node of 9 bytes at 504 of 512");
  expect(ErrorWith(3 * kPage + 480, 40, 4), "page 3: a node of 50 bytes at 480");
  expect(ErrorWith(3 * kPage + 480 + 4, 2, 2), "holds named databases");
  expect(ErrorWith(3 * kPage + 480 + 4, 4, 2), "several values per key");
  expect(ErrorWith(3 * kPage + 480 + 4, 8, 2), "a node with flags 8");
  expect(ErrorWith(3 * kPage + 494, 0xffffffff, 4), "page 3: it points to page 5 and 8388608 more");
  expect(ErrorWith(3 * kPage + 504, 7, 8), "page 3: it points to page 7 and 2 more");
  expect(ErrorWith(5 * kPage + 12, 2, 4), "page 5: a value of 1024 bytes on 2 pages");
  expect(ErrorWith(5 * kPage + 12, 4, 4), "page 5: a value of 1024 bytes on 4 pages");
  expect(ErrorWith(5 * kPage + 10, 2, 2), "page 5: it is of kind 2, expected 4");
  // Two nodes in one place would multiply what a small file holds.
  expect(ErrorWith(3 * kPage + 18, 494, 2), "page 3: a node of 18 bytes at 494");
  expect(ErrorAfter([](std::string* file) { file->resize(3000); }), "perhaps it was not copied");
  for (const char* words : {"copy it again", "page 2", ":1024: "}) {
    expect(ErrorWith(2 * kPage, 3, 8), words);
  }
}

TEST(LmdbFile, OtherKindsOfDatabasesAreRefused) {
  TempFolder folder;
  WriteLmdb(folder / "twice", {{"a", "1"}, {"a", "2"}, {"b", "3"}}, MDB_DUPSORT);
  EXPECT_NE(ErrorOf([&] { Read(folder / "twice/data.mdb"); }).find("several values per key"),
            std::string::npos);
  WriteLmdb(folder / "named", {{"a", "1"}}, MDB_CREATE, "images");
  EXPECT_NE(ErrorOf([&] { Read(folder / "named/data.mdb"); }).find("named databases"),
            std::string::npos);
}

// Damages whole pages, words or bytes, or cuts the file.
void Damage(Random* random, size_t page, std::string* file) {
  static const uint64_t kTelling[] = {0, 1, 2, 3, 0x7fff, 0xffff, ~uint64_t{0}, 0x7fffffffffffffff};
  const size_t pages = file->size() / page;
  const size_t begin = random->Below(pages) * page;
  switch (random->Below(6)) {
    case 0:
      (*file)[random->Below(file->size())] = static_cast<char>(random->Next());
      break;
    case 1: {  // in the part that pages keep their numbers in
      const size_t bytes = size_t{1} << random->Below(4);
      Put(file, begin + random->Below(152 - bytes), kTelling[random->Below(8)], bytes);
      break;
    }
    case 2:
      for (size_t i = begin; i < begin + page; ++i) (*file)[i] = static_cast<char>(random->Next());
      break;
    case 3: {
      const std::string copy = file->substr(begin, page);
      const size_t other = random->Below(pages) * page;
      file->replace(begin, page, file->substr(other, page));
      file->replace(other, page, copy);
      break;
    }
    case 4:
      std::fill_n(file->begin() + begin + random->Below(page - 48), 48, '\xff');
      break;
    case 5:
      file->resize(random->Below(file->size()));
      break;
  }
}

TEST(LmdbFile, OfAThousandDamagedFilesEachIsAnErrorOrReadable) {
  TempFolder folder;
  LmdbRecords records;
  for (int i = 0; i < 120; ++i) {
    // A Datum of one channel: raw pixels in the leaf, or on pages of their own.
    const int side = i % 8 == 0 ? 80 : 9;
    std::string datum = {8, 1, 16, static_cast<char>(side), 24, static_cast<char>(side), 34};
    const int pixels = side * side;
    if (pixels > 127) datum += static_cast<char>((pixels & 127) | 128);
    datum += static_cast<char>(pixels > 127 ? pixels >> 7 : pixels);
    datum += std::string(pixels, static_cast<char>(i)) + std::string{40, static_cast<char>(i % 5)};
    std::string key = StrCat(1000 + i);
    key.resize(300, '_');
    records.emplace_back(key, datum);
  }
  WriteLmdb(folder / "db", records);
  const std::string whole = ReadFile(folder / "db/data.mdb");
  ASSERT_EQ(OpenSource("LMDB", {folder / "db", false})->size(), 120);
  int refused = 0, read = 0;
  for (int run = 0; run < 1000; ++run) {
    Random random(7, run);
    std::string file = whole;
    for (uint64_t changes = 1 + random.Below(2); changes > 0; --changes) {
      if (file.size() > 4096) Damage(&random, 4096, &file);
    }
    WriteFile(folder / "bad/data.mdb", file);
    try {
      const auto source = OpenSource("LMDB", {folder / "bad", false});
      Record record;
      for (int64_t i = 0; i < source->size(); ++i) source->Read(i, &record);
      ++read;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("data.mdb"), std::string::npos) << error.what();
      ++refused;
    }
  }
  // Free pages and pixels may change without harm.
  EXPECT_GT(refused, 400);
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace gf

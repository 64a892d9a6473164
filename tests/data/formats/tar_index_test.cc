// Index files beside shards.
#include "data/formats/tar_index.h"

#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"
#include "data/formats/tar_walk.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

// Writes `count` images with labels 0, 1, .. as one shard "s-000000.tar" with its index.
void WriteIndexed(const std::string& folder, int count) {
  WriterOptions options;
  options.folder = folder;
  options.name = "s";
  options.count = options.classes = count;
  const auto writer = WriterRegistry::Get().Create("data format", "TAR", options);
  Record record;
  for (int i = 0; i < count; ++i) {
    const std::string png = FlatPng({4, 4}, i);
    record.data = reinterpret_cast<const uint8_t*>(png.data());
    record.size = png.size();
    record.label = i;
    writer->Add(record, StrCat("key", i));
  }
  writer->Finish();
}

// Whether the index beside the shard is used; what speaks against it.
bool IsUsed(const std::string& shard, std::string* why) {
  return ReadTarIndex(InputFile(shard), why).has_value();
}

struct Listed {
  std::string key, where, bytes;
  int64_t label;
  bool operator==(const Listed& o) const {
    return key == o.key && where == o.where && bytes == o.bytes && label == o.label;
  }
};

std::vector<Listed> List(const std::string& path) {
  const auto source = OpenSource("TAR", {path, false});
  std::vector<Listed> samples;
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    EXPECT_EQ(record.label, source->Label(i));
    samples.push_back({source->Key(i), source->Where(i),
                       std::string(record.data, record.data + record.size), source->Label(i)});
  }
  return samples;
}

TEST(TarIndex, HoldsWhatAWalkFinds) {
  TempFolder folder;
  WriteIndexed(folder.path(), 7);
  const std::string tar = folder / "s-000000.tar", idx = folder / "s-000000.idx";
  EXPECT_EQ(ReadFile(idx).substr(0, 15), "v1.2 7\npng 512 ");
  std::string why;
  EXPECT_TRUE(IsUsed(tar, &why)) << why;
  const auto indexed = List(tar);
  std::filesystem::remove(idx);
  EXPECT_FALSE(IsUsed(tar, &why));
  EXPECT_EQ(why, "");
  EXPECT_EQ(List(tar), indexed);
}

TEST(TarIndex, WithoutItsLabelsTheShardIsAsked) {
  TempFolder folder;
  WriteIndexed(folder.path(), 12);
  const std::string tar = folder / "s-000000.tar", idx = folder / "s-000000.idx";
  const auto expected = List(tar);
  // As DALI's wds2idx writes it.
  const std::string text = ReadFile(idx);
  WriteFile(idx, text.substr(0, text.find("labels")));
  std::string why;
  EXPECT_TRUE(IsUsed(tar, &why)) << why;
  EXPECT_EQ(List(tar), expected);
}

TEST(TarIndex, OneThatDoesNotFitIsNotUsed) {
  TempFolder folder;
  WriteIndexed(folder.path(), 3);
  const std::string tar = folder / "s-000000.tar", idx = folder / "s-000000.idx";
  const std::string text = ReadFile(idx);
  const auto expected = List(tar);
  const auto refused = [&](const std::string& changed, const std::string& reason) {
    WriteFile(idx, changed);
    std::string why;
    EXPECT_FALSE(IsUsed(tar, &why));
    EXPECT_NE(why.find(reason), std::string::npos) << why;
    EXPECT_EQ(List(tar), expected) << "the shard itself is read instead";
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  refused("", "v1.2");
  refused("v1.1 3\n", "v1.2");
  refused("v1.2 99999999999\n", "announces");
  refused(replaced("v1.2 3", "v1.2 4"), "expected \"<ending>");
  refused(replaced("512", "99512"), "in a shard of");
  refused(replaced("512", "1024"), "the shard has no \"key0.png\" at 1024");
  refused(replaced("512", "-5"), "expected \"<ending>");
  refused(replaced("key0.png", "key9.png"), "two images or labels");
  std::string twice = replaced("key1.png", "key0.png");
  refused(twice.replace(twice.find("key1.cls"), 8, "key0.cls"),
          "two samples with the key \"key0\"");
  refused(replaced("cls", "txt").replace(text.find("key0.cls"), 8, "key0.txt"),
          "without an image or without a label");
  refused(replaced("labels ", "labels 1"), "it was made for a shard of");
  refused(replaced(" 0 1 2", " 0 1 1000000000"), "labels are damaged");
  refused(replaced(" 0 1 2", " 0 1 x"), "labels are damaged");
  refused(replaced(" 0 1 2", " 0 1"), "labels are damaged");
}

TEST(TarIndex, EveryTruncationAndFlippedBitIsNoticedOrHarmless) {
  TempFolder folder;
  WriteIndexed(folder.path(), 3);
  const std::string tar = folder / "s-000000.tar", idx = folder / "s-000000.idx";
  const std::string text = ReadFile(idx);
  Record record;
  const auto read = [&](const std::string& changed) {
    WriteFile(idx, changed);
    const auto source = OpenSource("TAR", {tar, false});
    for (int64_t i = 0; i < source->size(); ++i) source->Read(i, &record);
  };
  for (size_t i = 0; i < text.size(); ++i) {
    read(text.substr(0, i));
    for (const int bit : {1, 2, 16, 128}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      read(changed);
    }
  }
}

TEST(TarIndex, AGlobThatMatchesIndexesTooReadsTheShards) {
  TempFolder folder;
  WriteIndexed(folder.path(), 5);
  EXPECT_EQ(OpenSource("AUTO", {folder / "s-*", false})->size(), 5);
}

TEST(TarIndex, LabelsAreNumbersFromZero) {
  EXPECT_EQ(ParseLabel("12"), 12);
  EXPECT_EQ(ParseLabel(" 7\n"), 7);
  EXPECT_EQ(ParseLabel("1048575"), 1048575);
  for (const char* text :
       {"", " ", "-1", "x", "1 2", "1x", "1048576", "2147483647", "99999999999999999999"}) {
    EXPECT_FALSE(ParseLabel(text).has_value()) << text;
  }
}

TEST(TarIndex, IsWrittenForAShardThatHasNone) {
  TempFolder folder;
  WriteIndexed(folder.path(), 9);
  const std::string tar = folder / "s-000000.tar", idx = folder / "s-000000.idx";
  const std::string text = ReadFile(idx);
  std::filesystem::remove(idx);
  EXPECT_EQ(WriteTarIndex(tar), 9);
  EXPECT_EQ(ReadFile(idx), text);
}

TEST(TarIndex, OfFilesInAnyOrderAndOfDamagedShards) {
  TempFolder folder;
  const std::string png = FlatPng({4, 4}, 1), path = folder / "a.tar";
  {
    TarWriter tar(path);
    tar.Add("x.cls", "3", 1);
    tar.Add("y.png", png.data(), png.size());
    tar.Add("x.png", png.data(), png.size());
    tar.Add("notes.txt", "no", 2);
    tar.Add("y.cls", "4", 1);
    tar.Close();
  }
  const auto expected = List(path);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(WriteTarIndex(path), 2);
  std::string why;
  EXPECT_TRUE(IsUsed(path, &why)) << why;
  EXPECT_EQ(List(path), expected);

  const std::string whole = ReadFile(path);
  std::filesystem::remove(folder / "a.idx");
  for (const size_t length : {size_t{700}, whole.size() / 2, whole.size() - 1500}) {
    WriteFile(path, whole.substr(0, length));
    EXPECT_NE(ErrorOf([&] { WriteTarIndex(path); }).find("a.tar"), std::string::npos) << length;
    EXPECT_FALSE(std::filesystem::exists(folder / "a.idx"));
  }
  {
    TarWriter tar(path);
    tar.Add("a b.png", png.data(), png.size());
    tar.Add("a b.cls", "4", 1);
    tar.Close();
  }
  EXPECT_NE(ErrorOf([&] { WriteTarIndex(path); }).find("cannot have an index"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.idx"));
}

}  // namespace
}  // namespace gf

#include <cstring>

#include "data/formats/record_source.h"
#include "data/formats/tar_index.h"
#include "data/formats/tar_reader.h"
#include "data/formats/tar_walk.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

// A header block with a correct checksum, whatever it says.
std::string Header(const std::string& name, const std::string& size, char type = '0',
                   const std::string& prefix = "") {
  std::string block(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, size);
  put(156, std::string(1, type));
  put(257, std::string("ustar\0"
                       "00",
                       8));
  put(345, prefix);
  put(148, std::string(8, ' '));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", sum);
  put(148, std::string(text, 7));
  return block;
}

std::string Octal(size_t size) {
  char text[16];
  std::snprintf(text, sizeof(text), "%011zo", size);
  return text;
}

std::string Member(const std::string& name, const std::string& data, char type = '0',
                   const std::string& prefix = "") {
  return Header(name, Octal(data.size()), type, prefix) + data +
         std::string((512 - data.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

struct Names {
  std::vector<std::string> names;
  std::vector<std::string> data;
};

Names Walk(const std::string& tar) {
  TempFolder folder;
  WriteFile(folder / "a.tar", tar);
  const InputFile file(folder / "a.tar");
  TarReader reader(&file);
  Names result;
  for (TarMember member; reader.Next(&member);) {
    result.names.push_back(member.name);
    std::string data(member.size, '\0');
    EXPECT_EQ(file.ReadAt(member.data_offset, &data[0], data.size()), data.size());
    result.data.push_back(data);
  }
  return result;
}

std::unique_ptr<RecordSource> Open(const std::string& path, bool skip = false) {
  return OpenSource("TAR", {path, skip});
}

TEST(TarReader, NamesOfEveryKindAreRead) {
  const std::string deep(90, 'd'), name(60, 'n');
  const std::string pax_path = "pax/" + std::string(150, 'p') + ".jpg";
  std::string record = " path=" + pax_path + "\n";
  record = std::to_string(record.size() + 3) + record;
  const Names found = Walk(
      Member("plain.jpg", "1") + Member(name, "2", '0', deep) +
      Member("././@LongLink", std::string(200, 'L') + '\0', 'L') + Member("short", "3") +
      Member("PaxHeader", record, 'x') + Member("short", "4") + Member("g", "11 comment\n", 'g') +
      Member("folder/", "", '5') + Member("link", "", '2') + Member("old", "5", '\0') + kEnd);
  EXPECT_EQ(found.names, (std::vector<std::string>{"plain.jpg", deep + "/" + name,
                                                   std::string(200, 'L'), pax_path, "old"}));
  EXPECT_EQ(found.data, (std::vector<std::string>{"1", "2", "3", "4", "5"}));
}

// The record of a pax header that names the next file.
std::string PaxPath(const std::string& name) {
  const std::string record = " path=" + name + "\n";
  const size_t digits = record.size() + 2 < 100 ? 2 : 3;
  return std::to_string(record.size() + digits) + record;
}

TEST(TarIndex, IsWrittenAndReadWhereNamesStandInExtensionHeaders) {
  const std::string deep = "pax/" + std::string(150, 'p') + ".png",
                    gnu = std::string(200, 'L') + ".png";
  const auto pax = [](const std::string& name, const std::string& data) {
    return Member("PaxHeader", PaxPath(name), 'x') + Member("short", data);
  };
  const auto label = [](const std::string& name) {
    return name.substr(0, name.size() - 4) + ".cls";
  };
  const std::string tar = pax("z.png", "1") + pax("z.cls", "2") + pax(deep, "3") +
                          pax(label(deep), "4") + Member("././@LongLink", gnu + '\0', 'L') +
                          Member("short", "5") + Member("././@LongLink", label(gnu) + '\0', 'L') +
                          Member("short", "6") + kEnd;
  // Those of the first and the last sample are looked at.
  for (const std::string& first : {std::string(), Member("a.png", "0") + Member("a.cls", "9")}) {
    TempFolder folder;
    WriteFile(folder / "a.tar", first + tar);
    const int64_t samples = first.empty() ? 3 : 4;
    EXPECT_EQ(WriteTarIndex(folder / "a.tar"), samples);
    std::string why;
    EXPECT_TRUE(ReadTarIndex(InputFile(folder / "a.tar"), &why)) << why;
    const auto source = Open(folder / "a.tar");
    EXPECT_EQ(source->size(), samples);
    EXPECT_EQ(source->Label(samples - 1), 6);
    // Another name in the extension header.
    std::string changed = first + tar;
    changed.replace(changed.find(gnu), 1, "M");
    WriteFile(folder / "a.tar", changed);
    EXPECT_FALSE(ReadTarIndex(InputFile(folder / "a.tar"), &why));
    EXPECT_NE(why.find("the shard has no \"LLL"), std::string::npos) << why;
  }
}

TEST(TarIndex, AShardWithoutSamplesGetsNone) {
  TempFolder folder;
  WriteFile(folder / "a.tar", kEnd);
  EXPECT_EQ(WriteTarIndex(folder / "a.tar"), 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.idx"));
}

TEST(TarReader, ArchivesOneAfterTheOtherAreReadToTheEnd) {
  EXPECT_EQ(Walk(Member("a", "1") + kEnd + Member("b", "2") + kEnd).names.size(), 2u);
}

TEST(TarReader, HostileHeadersGiveAnErrorWithTheOffset) {
  const std::string first = Member("a", "1");
  std::string binary = Octal(0);
  binary.assign(12, '\xff');
  std::string huge = binary;
  huge[1] = 0x7f;
  std::string wrapped(12, '\0');
  wrapped[0] = static_cast<char>(0x80);
  wrapped[4] = 0x7f;
  wrapped[5] = static_cast<char>(0xff);
  for (const std::string& second : std::vector<std::string>{
           Header("b", "77777777777"), Header("b", "00000001000"), Header("b", binary),
           Header("b", huge), Header("b", wrapped), Header("b", "9"), Header("b", "-1"),
           Header("b", "77777777777", 'L'), Header("b", "77777777777", 'x'),
           Header("b", "00000000100", 'S'), Member("b", "99 path=x\n", 'x'),
           Member("b", "0 path=x\n", 'x'), Member("b", "4 a=\n", 'x'), Member("b", "junk", 'x'),
           Member("b", "99999999999999999999999999 path=x\n", 'x'), Member("b", "8 path\n=", 'x'),
           std::string(512, 'x')}) {
    const std::string message = ErrorOf([&] { Walk(first + second); });
    EXPECT_NE(message.find("a.tar:1024: "), std::string::npos) << message;
  }
  // A size from a pax header that does not fit.
  EXPECT_NE(ErrorOf([&] {
              Walk(Member("b", "20 size=99999999999\n", 'x') + Member("c", "1"));
            }).find("a.tar:1024"),
            std::string::npos);
}

TEST(TarReader, OneWrongBitInAHeaderIsNoticed) {
  const std::string tar = Member("a.jpg", "1") + kEnd;
  for (size_t i = 0; i < 512; ++i) {
    std::string broken = tar;
    broken[i] ^= 0x04;
    EXPECT_THROW(Walk(broken), UserError) << i;
  }
}

TEST(TarSource, TruncatedAnywhereGivesAnErrorOrAllThatWasWritten) {
  TempFolder folder;
  WriteShard(folder / "whole.tar", 0, 3, 2);
  const std::string tar = ReadFile(folder / "whole.tar");
  for (size_t bytes = 0; bytes < tar.size(); ++bytes) {
    const std::string path = folder / "cut.tar";
    WriteFile(path, tar.substr(0, bytes));
    try {
      EXPECT_EQ(Open(path)->size(), 3) << bytes;
      EXPECT_GT(bytes, tar.size() - 1024);
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("cut.tar:"), std::string::npos) << error.what();
    }
  }
}

TEST(TarSource, TruncatedShardKeepsItsGoodSamplesWhenSkipping) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2);
  WriteShard(folder / "b.tar", 3, 2, 2);
  const std::string tar = ReadFile(folder / "a.tar");
  WriteFile(folder / "a.tar", tar.substr(0, tar.size() - 1024 - 700));
  EXPECT_THROW(Open(folder.path()), UserError);
  const auto source = Open(folder.path(), true);
  EXPECT_EQ(source->size(), 4);
  // The cut label and the image that is left without it.
  EXPECT_EQ(source->skipped(), 2);
}

TEST(TarSource, PairsInAnyOrderAreFoundAndOthersIgnored) {
  TempFolder folder;
  WriteFile(folder / "a.tar", Member("x/1.cls", "3\n") + Member("x/2.JPG", "two") +
                                  Member("x/1.jpeg", "one") + Member("x/1.json", "{}") +
                                  Member("x/._1.jpg", "mac") + Member("x/2.cls", " 0 ") + kEnd);
  const auto source = Open(folder / "a.tar");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->classes(), 4);
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(std::string(record.data, record.data + record.size), "two");
  EXPECT_EQ(record.label, 0);
  source->Read(1, &record);
  EXPECT_EQ(std::string(record.data, record.data + record.size), "one");
  EXPECT_EQ(record.label, 3);
  EXPECT_EQ(source->Where(0), folder / "a.tar:x/2:1536");
}

TEST(TarSource, HalvesOfPairsAndBadLabelsAreNamed) {
  TempFolder folder;
  const auto message = [&](const std::string& tar) {
    WriteFile(folder / "a.tar", tar);
    return ErrorOf([&] { Open(folder / "a.tar"); });
  };
  const std::string good = Member("g.jpg", "x") + Member("g.cls", "0");
  EXPECT_NE(message(good + Member("i.jpg", "x") + kEnd).find("a.tar:2048: \"i.jpg\" has no .cls"),
            std::string::npos);
  EXPECT_NE(message(good + Member("l.cls", "1") + kEnd).find("a.tar:2048: \"l.cls\" has no image"),
            std::string::npos);
  EXPECT_NE(message(good + kEnd + Member("h.png", "x") + kEnd).find("\"h.png\" has no .cls"),
            std::string::npos);
  for (const char* label : {"", "x", "-1", "1 2", "1.5", "99999999999999999999",
                            "000000000000000000000000000000000000001"}) {
    EXPECT_NE(message(Member("l.jpg", "x") + Member("l.cls", label) + kEnd).find("class index"),
              std::string::npos)
        << label;
  }
}

TEST(TarSource, ALabelThatNoNetHasIsRefusedWithItsFile) {
  TempFolder folder;
  WriteFile(folder / "a.tar", Member("a.jpg", "1") + Member("a.cls", "200000000") + kEnd);
  const std::string message = ErrorOf([&] { Open(folder / "a.tar"); });
  EXPECT_NE(message.find("a.tar:1024: \"a.cls\" holds \"200000000\", expected a class index 0 to "
                         "1048575"),
            std::string::npos)
      << message;
}

TEST(TarSource, ASecondSampleOfAKeyIsRefusedWhereverItsFilesAre) {
  TempFolder folder;
  const std::string image = Member("a.jpg", "1"), label = Member("a.cls", "2");
  for (const std::string& tar : {image + label + image + label, image + image + label + label}) {
    WriteFile(folder / "a.tar", tar + kEnd);
    const std::string message = "a second image for the key \"a\"";
    EXPECT_NE(ErrorOf([&] { Open(folder / "a.tar"); }).find(message), std::string::npos);
    EXPECT_NE(ErrorOf([&] { WriteTarIndex(folder / "a.tar"); }).find(message), std::string::npos);
    const auto source = Open(folder / "a.tar", true);
    EXPECT_EQ(source->size(), 1);
    EXPECT_EQ(source->skipped(), 2);
  }
}

TEST(TarSource, ShardsAreOrderedByNameWhateverTheGlobSays) {
  TempFolder folder;
  WriteShard(folder / "t-10.tar", 100, 1, 10);
  WriteShard(folder / "t-09.tar", 200, 1, 10);
  WriteShard(folder / "other.tar", 300, 1, 10);
  const auto source = Open(folder / "t-*.tar");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->Key(0), "s200");
  EXPECT_EQ(source->Key(1), "s100");
}

TEST(TarSource, CompressedMissingAndEmptyAreExplained) {
  TempFolder folder;
  WriteFile(folder / "a.tar",
            "\x1f\x8b and so on, long enough to be taken for a block" + std::string(512, 'z'));
  EXPECT_NE(ErrorOf([&] { Open(folder / "a.tar"); }).find("gunzip"), std::string::npos);
  EXPECT_NE(ErrorOf([&] { Open(folder / "none-*.tar"); }).find("no such file"), std::string::npos);
  WriteFile(folder / "a.tar", kEnd);
  EXPECT_NE(ErrorOf([&] { Open(folder / "a.tar"); }).find("0 images"), std::string::npos);
  WriteFile(folder / "a.tar", "");
  EXPECT_NE(ErrorOf([&] { Open(folder / "a.tar"); }).find("empty"), std::string::npos);
}

TEST(TarSource, AShardThatShrinksLaterIsADamagedSample) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2);
  const auto source = Open(folder / "a.tar");
  std::filesystem::resize_file(folder / "a.tar", 600);
  Record record;
  EXPECT_THROW(source->Read(1, &record), SampleError);
}

}  // namespace
}  // namespace gf

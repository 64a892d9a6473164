// Image folders, idx files, and telling formats apart.
#include <archive.h>
#include <archive_entry.h>

#include <new>

#include "data/formats/record_source.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

std::string Be32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Images(uint32_t count, uint32_t height, uint32_t width, const std::string& pixels) {
  return Be32(0x803) + Be32(count) + Be32(height) + Be32(width) + pixels;
}

std::string Labels(uint32_t count, const std::string& labels) {
  return Be32(0x801) + Be32(count) + labels;
}

std::string Gzip(const std::string& text) {
  std::string packed(text.size() + 4096, '\0');
  size_t used = 0;
  archive* a = archive_write_new();
  archive_write_add_filter_gzip(a);
  archive_write_set_format_raw(a);
  archive_write_open_memory(a, &packed[0], packed.size(), &used);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(a, entry);
  archive_write_data(a, text.data(), text.size());
  archive_write_close(a);
  archive_entry_free(entry);
  archive_write_free(a);
  packed.resize(used);
  return packed;
}

std::unique_ptr<RecordSource> Open(const std::string& path, const std::string& format = "AUTO") {
  return OpenSource(format, {path, false});
}

TEST(IdxSource, PixelsAndLabelsAreReadPlainAndGzipped) {
  for (const bool gzip : {false, true}) {
    TempFolder folder;
    const auto pack = [&](const std::string& text) { return gzip ? Gzip(text) : text; };
    const std::string end = gzip ? ".gz" : "";
    WriteFile(folder / ("t-images-idx3-ubyte" + end), pack(Images(2, 2, 3, "abcdefABCDEF")));
    WriteFile(folder / ("t-labels-idx1-ubyte" + end), pack(Labels(2, {4, 7})));
    const auto source = Open(folder / ("t-images-idx3-ubyte" + end));
    ASSERT_EQ(source->size(), 2);
    EXPECT_EQ(source->classes(), 8);
    Record record;
    source->Read(1, &record);
    EXPECT_TRUE(record.raw);
    EXPECT_EQ(record.raw_size, (ImageSize{2, 3}));
    EXPECT_EQ(std::string(record.data, record.data + record.size), "ABCDEF");
    EXPECT_EQ(record.label, 7);
  }
}

TEST(IdxSource, TruncatedAnywhereIsAnError) {
  TempFolder folder;
  const std::string images = Images(2, 2, 3, "abcdefABCDEF"), labels = Labels(2, {4, 7});
  const std::string path = folder / "images-idx3";
  for (const bool gzip : {false, true}) {
    const std::string whole = gzip ? Gzip(images) : images;
    WriteFile(folder / "labels-idx1", labels);
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      WriteFile(path, whole.substr(0, bytes));
      EXPECT_THROW(Open(path, "IDX"), UserError) << bytes;
    }
  }
  WriteFile(path, images);
  for (size_t bytes = 0; bytes < labels.size(); ++bytes) {
    WriteFile(folder / "labels-idx1", labels.substr(0, bytes));
    EXPECT_THROW(Open(path, "IDX"), UserError) << bytes;
  }
}

TEST(IdxSource, DamagedGzipIsAnErrorThatSaysSo) {
  TempFolder folder;
  const std::string whole = Gzip(Images(2, 2, 3, "abcdefABCDEF")), path = folder / "images-idx3";
  WriteFile(folder / "labels-idx1", Labels(2, {4, 7}));
  for (size_t i = whole.size() - 8; i < whole.size(); ++i) {  // the checksum and the length
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    WriteFile(path, damaged);
    EXPECT_EQ(ErrorOf([&] { Open(path, "IDX"); }).find("cannot unpack " + path + ": "), 0u) << i;
  }
  WriteFile(path, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(
      ErrorOf([&] { Open(path, "IDX"); }),
      "cannot unpack " + path + ": unexpected end of file; perhaps it was not copied completely");
}

TEST(IdxSource, HostileHeadersAreErrors) {
  TempFolder folder;
  WriteFile(folder / "labels-idx1", Labels(1, {0}));
  for (const std::string& images :
       {Images(0xffffffff, 0xffffffff, 0xffffffff, "x"), Images(0xffffffff, 28, 28, "x"),
        Images(1, 0, 5, ""), Images(1, 0x80000000, 2, "x"), Images(1, 1, 1, "xy"),
        Images(2, 1, 1, "xy"), Images(0, 2, 2, ""), Be32(0x0d03) + std::string(20, 'x')}) {
    WriteFile(folder / "images-idx3", images);
    EXPECT_THROW(Open(folder / "images-idx3", "IDX"), UserError);
    WriteFile(folder / "images-idx3", Gzip(images));
    EXPECT_THROW(Open(folder / "images-idx3", "IDX"), UserError);
  }
}

TEST(IdxSource, MissingLabelsAreNamed) {
  TempFolder folder;
  WriteFile(folder / "t10k-images-idx3-ubyte", Images(1, 1, 1, "x"));
  EXPECT_NE(
      ErrorOf([&] { Open(folder / "t10k-images-idx3-ubyte"); }).find("t10k-labels-idx1-ubyte"),
      std::string::npos);
}

TEST(FolderSource, ClassesAreNumberedInByteOrder) {
  TempFolder folder;
  for (const char* name : {"b/2.png", "b/1.JPEG", "B/x.jpg", "a/deep/y.png", "a/notes.txt",
                           ".hidden/z.png", "empty/.keep"}) {
    WriteFile(folder / name, name);
  }
  const auto source = Open(folder.path());
  EXPECT_EQ(source->ClassNames(), (std::vector<std::string>{"B", "a", "b", "empty"}));
  ASSERT_EQ(source->size(), 4);
  std::vector<std::string> contents;
  std::vector<int64_t> labels;
  Record record;
  for (int i = 0; i < 4; ++i) {
    source->Read(i, &record);
    contents.emplace_back(record.data, record.data + record.size);
    labels.push_back(record.label);
  }
  EXPECT_EQ(contents, (std::vector<std::string>{"B/x.jpg", "a/deep/y.png", "b/1.JPEG", "b/2.png"}));
  EXPECT_EQ(labels, (std::vector<int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(source->Where(2), folder / "b/1.JPEG");
}

TEST(FolderSource, NoImagesIsAnError) {
  TempFolder folder;
  WriteFile(folder / "a/notes.txt", "");
  EXPECT_NE(ErrorOf([&] { Open(folder.path()); }).find("0 images"), std::string::npos);
}

TEST(DetectFormat, TellsWhatLiesThere) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "tars");
  WriteShard(folder / "tars/a.tar", 0, 1, 1);
  WriteFile(folder / "classes/cat/1.png", "x");
  WriteFile(folder / "idx/x-images-idx3-ubyte", Images(1, 1, 1, "x"));
  EXPECT_EQ(DetectFormat(folder / "tars"), "TAR");
  EXPECT_EQ(DetectFormat(folder / "tars/*.tar"), "TAR");
  EXPECT_EQ(DetectFormat(folder / "classes"), "FOLDER");
  EXPECT_EQ(DetectFormat(folder / "idx"), "IDX");
  EXPECT_EQ(DetectFormat(folder / "idx/x-images-idx3-ubyte"), "IDX");
  EXPECT_THROW(DetectFormat(folder / "classes/cat"), UserError);
  EXPECT_THROW(DetectFormat(folder / "nothing"), UserError);
}

// A data set too large for the machine.
class ScarceFormat : public SourceFormat {
 public:
  bool Recognizes(const std::string& path) const override { return false; }
  std::unique_ptr<RecordSource> Open(const SourceOptions& options) const override {
    throw std::bad_alloc();
  }
};
GF_REGISTER(SourceFormatRegistry, "SCARCE", ScarceFormat);

TEST(OpenSource, ALackOfMemoryNamesTheDataSet) {
  EXPECT_NE(ErrorOf([] { Open("huge.tar", "SCARCE"); }).find("huge.tar: not enough memory"),
            std::string::npos);
}

}  // namespace
}  // namespace gf

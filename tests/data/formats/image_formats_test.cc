// Data sets of images that are neither JPEG nor PNG.
#include <gtest/gtest.h>

#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"
#include "data/formats/tar_index.h"
#include "tests/data/image/tiff_writer.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

std::string Tiff(int shift) {
  TiffForm form;
  form.size = {5, 7};
  form.format = {PixelType::kUINT8, 3};
  return WriteTiff(form, Gradient(form.size, 3, shift));
}

// Writes two TIFFs, of the classes 0 and 1.
void Write(const std::string& format, const std::string& folder) {
  WriterOptions options;
  options.folder = folder;
  options.name = "s";
  options.count = options.classes = 2;
  const auto writer = WriterRegistry::Get().Create("data format", format, options);
  for (int i = 0; i < 2; ++i) {
    const std::string tiff = Tiff(i);
    Record record;
    record.data = reinterpret_cast<const uint8_t*>(tiff.data());
    record.size = tiff.size();
    record.label = i;
    writer->Add(record, StrCat("key", i));
  }
  writer->Finish();
}

void ExpectBytes(const std::string& path) {
  const auto source = OpenSource("AUTO", {path, false});
  ASSERT_EQ(source->size(), 2);
  Record record;
  for (int i = 0; i < 2; ++i) {
    source->Read(i, &record);
    EXPECT_EQ(std::string(record.data, record.data + record.size), Tiff(i));
    EXPECT_EQ(record.label, i);
  }
}

TEST(ImageFormats, ShardsAndTheirIndexesKeepBytesAndEndings) {
  TempFolder folder;
  Write("TAR", folder.path());
  const std::string shard = folder / "s-000000.tar";
  EXPECT_NE(ReadFile(TarIndexPath(shard)).find("tif 512 "), std::string::npos);
  std::string why;
  const auto index = ReadTarIndex(InputFile(shard), &why);
  EXPECT_EQ(why, "");
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->samples.size(), 2u);
  ExpectBytes(folder.path());
  // And a walk without the index.
  std::filesystem::remove(TarIndexPath(shard));
  ExpectBytes(folder.path());
}

TEST(ImageFormats, FoldersKeepBytesAndEndings) {
  TempFolder folder;
  Write("FOLDER", folder.path());
  ExpectBytes(folder.path());
  EXPECT_TRUE(std::filesystem::exists(folder / "0/key0.tif"));
}

}  // namespace
}  // namespace gf

#include "data/prepare/convert.h"

#include <cstring>
#include <map>

#include "data/formats/record_source.h"
#include "data/prepare/info.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

ConvertOptions To(const std::string& from, const std::string& to, const std::string& format) {
  ConvertOptions options;
  options.from = from;
  options.to = to;
  options.format = format;
  return options;
}

// Bytes of each image file -> label.
std::map<std::string, int64_t> Contents(const std::string& path) {
  const auto source = OpenSource("AUTO", {path, false});
  std::map<std::string, int64_t> contents;
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    contents[std::string(record.data, record.data + record.size)] = record.label;
  }
  return contents;
}

TEST(Convert, TarToFolderToTarKeepsBytesLabelsAndClasses) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "in");
  WriteShard(folder / "in/a.tar", 0, 23, 12);
  WriteFile(folder / "in/classes.txt", "z\ny\nx\nw\nv\nu\nt\ns\nr\nq\np\no\nn/n\n");
  ConvertDataSet(To(folder / "in", folder / "mid", "FOLDER"));
  ConvertOptions back = To(folder / "mid", folder / "out", "TAR");
  back.shards = 4;
  EXPECT_EQ(ConvertDataSet(back).written, 23);
  EXPECT_EQ(Contents(folder / "mid"), Contents(folder / "in"));
  EXPECT_EQ(Contents(folder / "out"), Contents(folder / "in"));
  const DataSetInfo info = InspectDataSet(folder / "out", "AUTO");
  EXPECT_EQ(info.classes, 13) << "a class without images keeps its number";
  EXPECT_EQ(info.class_names[0], "00_z");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/out-000003.tar"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/out-000004.tar"));
}

TEST(Convert, AListIsReadFromItsRootFolder) {
  TempFolder folder;
  const std::string png = FlatPng({2, 2}, 'a');
  WriteFile(folder / "images/deep/a.png", png);
  WriteFile(folder / "lists/train.txt", "deep/a.png 3\n");
  ConvertOptions options = To(folder / "lists/train.txt", folder / "out", "TAR");
  EXPECT_NE(ErrorOf([&] { ConvertDataSet(options); }), "");
  options.root_folder = folder / "images";
  EXPECT_EQ(ConvertDataSet(options).written, 1);
  EXPECT_EQ(Contents(folder / "out"), (std::map<std::string, int64_t>{{png, 3}}));
  const DataSetInfo info =
      InspectDataSet(folder / "lists/train.txt", "AUTO", LabelConfig(), folder / "images");
  EXPECT_EQ(info.images, 1);
}

TEST(Convert, IdxThroughTarKeepsPixels) {
  TempFolder folder;
  const std::string pixels = "0123456789ab";
  WriteFile(folder / "images-idx3",
            std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16) + pixels);
  WriteFile(folder / "labels-idx1", std::string("\0\0\x08\x01\0\0\0\x02\x05\x01", 10));
  ConvertDataSet(To(folder / "images-idx3", folder / "tar", "TAR"));
  ConvertDataSet(To(folder / "tar", folder / "idx", "IDX"));
  EXPECT_EQ(ReadFile(folder / "idx/images-idx3-ubyte"), ReadFile(folder / "images-idx3"));
  EXPECT_EQ(ReadFile(folder / "idx/labels-idx1-ubyte"), ReadFile(folder / "labels-idx1"));
}

TEST(Convert, IdxRefusesColourAndSeveralSizesByName) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2, {4, 4});
  WriteShard(folder / "b.tar", 2, 2, 2, {5, 5});
  ConvertOptions options = To(folder / "*.tar", folder / "idx", "IDX");
  EXPECT_NE(ErrorOf([&] { ConvertDataSet(options); }).find("a.tar:s0:"), std::string::npos);
  options.grayscale = true;
  const std::string message = ErrorOf([&] { ConvertDataSet(options); });
  EXPECT_NE(message.find("b.tar:s2:"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(folder / "idx"));
}

TEST(Convert, GrayscaleIsForIdx) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2);
  for (const char* format : {"TAR", "FOLDER", "LMDB"}) {
    ConvertOptions options = To(folder / "a.tar", folder / "out", format);
    options.grayscale = true;
    EXPECT_NE(ErrorOf([&] { ConvertDataSet(options); }).find("grayscale: for format idx only"),
              std::string::npos);
  }
}

TEST(Convert, ADataSetIsNotWrittenIntoItself) {
  TempFolder folder;
  WriteFile(folder / "in/ant/a.png", FlatPng({2, 2}, 1));
  std::filesystem::create_directory_symlink(folder / "in", folder / "link");
  for (const char* to : {"in/new", "in/ant/new/x", "link/new", "in/../in/new"}) {
    const std::string message =
        ErrorOf([&] { ConvertDataSet(To(folder / "in/", folder / to, "FOLDER")); });
    EXPECT_NE(message.find("choose a folder outside of it"), std::string::npos) << to << message;
  }
  EXPECT_EQ(ConvertDataSet(To(folder / "in", folder / "in_new", "FOLDER")).written, 1);
}

TEST(Convert, ALinkIsNotWrittenOver) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2);
  std::filesystem::create_directories(folder / "empty");
  std::filesystem::create_symlink(folder / "empty", folder / "out");
  const ConvertOptions options = To(folder / "a.tar", folder / "out", "FOLDER");
  EXPECT_NE(ErrorOf([&] { ConvertDataSet(options); }).find("--force"), std::string::npos);
}

TEST(Convert, NeverOverwritesAndLeavesNothingBehindWhenItFails) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2);
  WriteFile(folder / "out/precious", "x");
  ConvertOptions options = To(folder / "a.tar", folder / "out", "FOLDER");
  EXPECT_NE(ErrorOf([&] { ConvertDataSet(options); }).find("--force"), std::string::npos);
  options.force = true;
  EXPECT_EQ(ConvertDataSet(options).old, folder / "out.old");
  EXPECT_EQ(ReadFile(folder / "out.old/precious"), "x");
  EXPECT_EQ(Contents(folder / "out").size(), 2u);

  TarWriter tar(folder / "bad.tar");
  tar.Add("a.jpg", "junk", 4);
  tar.Add("a.cls", "0", 1);
  tar.Close();
  EXPECT_NE(ErrorOf([&] {
              ConvertDataSet(To(folder / "bad.tar", folder / "new", "FOLDER"));
            }).find("bad.tar:a:512"),
            std::string::npos);
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    left += entry.path().filename().string().find("new") != std::string::npos;
  }
  EXPECT_EQ(left, 0);
}

TEST(Convert, KeysThatMakeTheSameNameStayApart) {
  TempFolder folder;
  for (const char* name : {"c/a.png", "c/a_2.png", "c/a.jpg", "c/a b.png", "c/a+b.png"}) {
    WriteFile(folder / StrCat("in/", name),
              FlatPng({2, 2}, name[3] * 7 + std::string(name).size()));
  }
  EXPECT_EQ(ConvertDataSet(To(folder / "in", folder / "out", "TAR")).written, 5);
  EXPECT_EQ(OpenSource("AUTO", {folder / "out", false})->size(), 5);
}

TEST(Convert, LmdbKeepsBytesLabelsAndClasses) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "in");
  WriteShard(folder / "in/a.tar", 0, 23, 3);
  WriteFile(folder / "in/classes.txt", "z\ny\nx\n");
  EXPECT_EQ(ConvertDataSet(To(folder / "in", folder / "db", "LMDB")).written, 23);
  EXPECT_EQ(Contents(folder / "db"), Contents(folder / "in"));
  EXPECT_EQ(InspectDataSet(folder / "db", "AUTO").class_names[2], "x");
  EXPECT_NE(
      ErrorOf([&] { ConvertDataSet(To(folder / "in", folder / "db", "LMDB")); }).find("--force"),
      std::string::npos);
  ConvertDataSet(To(folder / "db", folder / "back", "TAR"));
  EXPECT_EQ(Contents(folder / "back"), Contents(folder / "in"));
}

TEST(Convert, BothSidesOfAllImagesAreResized) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  const auto add = [&](const std::string& key, ImageSize size, int channels) {
    const std::string png = ToText(EncodePng(Gradient(size, channels).data(), size, channels));
    tar.Add(key + ".png", png.data(), png.size());
    tar.Add(key + ".cls", "1", 1);
  };
  add("large", {64, 50}, 3);
  add("right", {20, 30}, 3);
  add("small", {10, 40}, 3);
  add("gray", {64, 50}, 1);
  tar.Close();
  ConvertOptions options = To(folder / "a.tar", folder / "out", "TAR");
  options.resize = ParseResize("20x30");
  EXPECT_EQ(ConvertDataSet(options).written, 4);
  const auto before = OpenSource("AUTO", {folder / "a.tar", false});
  const auto source = OpenSource("AUTO", {folder / "out", false});
  Record record, old;
  for (int64_t i = 0; i < 4; ++i) {
    source->Read(i, &record);
    const ImageInfo info = ProbeImage(record.data, record.size);
    EXPECT_EQ(info.size.ToString(), (ImageSize{20, 30}.ToString())) << i;
    EXPECT_EQ(info.channels, i == 3 ? 1 : 3);
    EXPECT_EQ(record.label, 1);
    before->Read(i, &old);
    const bool kept = std::string(record.data, record.data + record.size) ==
                      std::string(old.data, old.data + old.size);
    EXPECT_EQ(kept, i == 1) << "an image of that size keeps its bytes";
    EXPECT_STREQ(info.format, i == 1 ? "PNG" : "JPEG");
  }
}

TEST(Convert, TheSizeOfResizeIsRead) {
  EXPECT_TRUE(ParseResize("0").Nothing());
  EXPECT_EQ(ParseResize("0").Of({3, 5}).ToString(), (ImageSize{3, 5}.ToString()));
  EXPECT_EQ(ParseResize("100").Of({300, 200}).ToString(), (ImageSize{150, 100}.ToString()));
  EXPECT_EQ(ParseResize("100").Of({300, 80}).ToString(), (ImageSize{300, 80}.ToString()));
  EXPECT_EQ(ParseResize("100x90").Of({300, 80}).ToString(), (ImageSize{100, 90}.ToString()));
  for (const char* text : {"0", "256", "240x320"}) EXPECT_EQ(ParseResize(text).ToString(), text);
  for (const char* text : {"", "x", "-1", "1x", "x1", "0x1", "1x0", "1x1x1", "65501", "1e3"}) {
    EXPECT_EQ(ErrorOf([&] { ParseResize(text); }).find(StrCat("--resize=", text, ": expected N")),
              0u)
        << text;
  }
}

TEST(Info, PrintsClassesThatOccurAndAtMostTenThousand) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  for (const char* label : {"7", "1048575"}) {
    tar.Add(StrCat(label, ".png"), "x", 1);
    tar.Add(StrCat(label, ".cls"), label, std::strlen(label));
  }
  tar.Close();
  DataSetInfo info = InspectDataSet(folder.path(), "AUTO");
  const std::string text = FormatInfo(info);
  EXPECT_NE(text.find("classes    1048576\n      7         1\n1048575         1\n"),
            std::string::npos)
      << text;
  for (int64_t label = 0; label < 20000; ++label) info.counts[label] = 1;
  const std::string long_text = FormatInfo(info);
  EXPECT_NE(long_text.find("   9999         1\n  and 10001 more\n"), std::string::npos);
}

TEST(Info, CountsClassesSizesAndDamage) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2, {4, 6});
  WriteShard(folder / "b.tar", 3, 2, 2, {5, 5});
  TarWriter tar(folder / "c.tar");
  tar.Add("x.jpg", "GIF89a", 6);
  tar.Add("x.cls", "1", 1);
  tar.Close();
  const DataSetInfo info = InspectDataSet(folder.path(), "AUTO");
  EXPECT_EQ(info.images, 6);
  EXPECT_EQ(info.counts, (std::map<int64_t, int64_t>{{0, 3}, {1, 3}}));
  EXPECT_EQ(info.min_height, 4);
  EXPECT_EQ(info.max_height, 5);
  EXPECT_EQ(info.min_width, 5);
  EXPECT_EQ(info.max_width, 6);
  EXPECT_EQ(info.damaged, 1);
  EXPECT_NE(FormatInfo(info).find("c.tar:x:512: GIF: "), std::string::npos);
}

}  // namespace
}  // namespace gf

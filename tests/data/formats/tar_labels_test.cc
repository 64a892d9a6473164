// Shards whose .cls files hold any number of labels.
#include "data/formats/record_source.h"
#include "data/formats/shard_writer.h"
#include "data/formats/tar_walk.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

LabelConfig Config(LabelConfig::Type type, int count = 0) {
  LabelConfig config;
  config.set_type(type);
  config.set_count(count);
  return config;
}

// A shard with an image per text of a .cls file.
void WriteTexts(const std::string& path, const std::vector<std::string>& texts) {
  TarWriter tar(path);
  const std::string png = FlatPng({2, 2}, 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
    tar.Add(StrCat("s", i, ".cls"), texts[i].data(), texts[i].size());
  }
  tar.Close();
}

std::string Labels(const std::string& path, const LabelConfig& config) {
  const auto source = OpenSource("TAR", {path, false, config});
  EXPECT_EQ(source->label_type(), config.type());
  std::string all;
  std::vector<float> labels;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Labels(i, &labels);
    all += source->Key(i) + ":";
    for (const float label : labels) all += StrCat(" ", label);
    all += "\n";
  }
  return all;
}

std::string Error(const std::string& path, const LabelConfig& config) {
  return ErrorOf([&] { OpenSource("TAR", {path, false, config}); });
}

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(TarLabels, SeveralNumbersPerImage) {
  TempFolder folder;
  WriteTexts(folder / "a.tar", {"3 1", "", "2,0\n", "1"});
  const std::string classes = "s0: 1 3\ns1:\ns2: 0 2\ns3: 1\n";
  EXPECT_EQ(Labels(folder / "a.tar", Config(LabelConfig::CLASSES)), classes);
  EXPECT_EQ(OpenSource("TAR", {folder / "a.tar", false, Config(LabelConfig::CLASSES)})->Describe(),
            "TAR, 1 shard, 4 images, 4 classes");
  WriteTexts(folder / "b.tar", {"0.5 -1", "2 3e2"});
  EXPECT_EQ(Labels(folder / "b.tar", Config(LabelConfig::VALUES, 2)), "s0: 0.5 -1\ns1: 2 300\n");
  // An index finds the images; labels come from the .cls files.
  EXPECT_EQ(WriteTarIndex(folder / "a.tar", Config(LabelConfig::CLASSES)), 4);
  EXPECT_EQ(ReadFile(folder / "a.idx").find("labels"), std::string::npos);
  EXPECT_EQ(Labels(folder / "a.tar", Config(LabelConfig::CLASSES)), classes);
  std::string why;
  LabelParser parser(Config(LabelConfig::CLASSES), {});
  TarLabels with_parser;
  with_parser.parser = &parser;
  EXPECT_TRUE(ReadTarIndex(InputFile(folder / "a.tar"), &why, with_parser)) << why;
}

TEST(TarLabels, OneClassSaysWhatSeveralNeed) {
  TempFolder folder;
  WriteTexts(folder / "a.tar", {"1", "3 1"});
  const std::string error = Error(folder / "a.tar", Config(LabelConfig::CLASS));
  ExpectIn("\"s1.cls\" holds \"3 1\", expected a class index 0 to 1048575", error);
  ExpectIn("several labels: set labels { type: CLASSES }", error);
}

TEST(TarLabels, MistakesAreNamed) {
  TempFolder folder;
  for (const bool index : {false, true}) {
    WriteTexts(folder / "a.tar", {"1 2", "3"});
    if (index) WriteTarIndex(folder / "a.tar", Config(LabelConfig::CLASSES));
    ExpectIn("\"s1.cls\": 1 value, expected 2",
             Error(folder / "a.tar", Config(LabelConfig::VALUES)));
    ExpectIn("\"s0.cls\": class 2, expected 0 to 1",
             Error(folder / "a.tar", Config(LabelConfig::CLASSES, 2)));
  }
  WriteTexts(folder / "b.tar", {"1 2", "x", "0 5"});
  ExpectIn("\"s1.cls\": \"x\" is not a class",
           Error(folder / "b.tar", Config(LabelConfig::CLASSES)));
  const auto source = OpenSource("TAR", {folder / "b.tar", true, Config(LabelConfig::CLASSES)});
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->skipped(), 1);
  std::vector<float> labels;
  source->Labels(1, &labels);
  EXPECT_EQ(labels, (std::vector<float>{0, 5}));
}

TEST(TarLabels, LabelsOfAFileNeedNoClsFiles) {
  TempFolder folder;
  const std::string png = FlatPng({2, 2}, 1);
  TarWriter tar(folder / "a.tar");
  tar.Add("x.png", png.data(), png.size());
  tar.Add("y.png", png.data(), png.size());
  tar.Add("y.cls", "no number", 9);
  tar.Close();
  WriteFile(folder / "labels.txt", "y 1 2\nx\n");
  LabelConfig config = Config(LabelConfig::CLASSES);
  config.set_file(folder / "labels.txt");
  EXPECT_EQ(Labels(folder / "a.tar", config), "x:\ny: 1 2\n");
}

TEST(TarLabels, WrittenShardsReadBack) {
  TempFolder folder;
  const std::string png = FlatPng({2, 2}, 1);
  EncodedImage image = {reinterpret_cast<const uint8_t*>(png.data()), png.size(), ".png", {}};
  ShardWriter writer(folder / "a.tar");
  writer.Add("s0", image, std::vector<float>{0.1f, -2});
  writer.Add("s1", image, std::vector<float>{1.0f / 3, 4});
  writer.Close();
  const auto source = OpenSource("TAR", {folder / "a.tar", false, Config(LabelConfig::VALUES)});
  std::vector<float> labels;
  source->Labels(1, &labels);
  EXPECT_EQ(labels, (std::vector<float>{1.0f / 3, 4}));
}

}  // namespace
}  // namespace gf

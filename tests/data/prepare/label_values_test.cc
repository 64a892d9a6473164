// gfdata and data sets with several labels per image, or values.
#include "data/formats/record_source.h"
#include "data/prepare/convert.h"
#include "data/prepare/info.h"
#include "data/prepare/verify.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

class PreparedLabelsTest : public testing::Test {
 protected:
  PreparedLabelsTest() {
    for (int i = 0; i < 3; ++i)
      WriteFile(folder_ / StrCat("images/", i, ".png"), FlatPng({2, 2}, i));
  }

  LabelConfig Labels(LabelConfig::Type type, const std::string& text) const {
    WriteFile(folder_ / "labels.csv", text);
    LabelConfig labels;
    labels.set_type(type);
    labels.set_file(folder_ / "labels.csv");
    return labels;
  }

  ConvertOptions To(const std::string& format, const LabelConfig& labels) const {
    ConvertOptions options;
    options.from = folder_ / "images";
    options.labels = labels;
    options.to = folder_ / "out";
    options.format = format;
    return options;
  }

  TempFolder folder_;
};

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(PreparedLabelsTest, ShardsKeepClasses) {
  WriteFile(folder_ / "classes.txt", "x\ny\nz\n");
  const LabelConfig labels = Labels(LabelConfig::CLASSES, "0 z x\n1\n2 y\n");
  EXPECT_EQ(ConvertDataSet(To("TAR", labels)).written, 3);
  LabelConfig shards;
  shards.set_type(LabelConfig::CLASSES);
  const auto source = OpenSource("AUTO", {folder_ / "out", false, shards});
  EXPECT_EQ(source->ClassNames(), (std::vector<std::string>{"x", "y", "z"}));
  std::vector<std::vector<float>> all(3);
  for (int64_t i = 0; i < 3; ++i) source->Labels(i, &all[i]);
  EXPECT_EQ(all, (std::vector<std::vector<float>>{{0, 2}, {}, {1}}));
  const DataSetInfo info = InspectDataSet(folder_ / "out", "AUTO", shards);
  EXPECT_EQ(info.class_labels, 3);
  ExpectIn("labels     3 (1 per image)", FormatInfo(info));
  ExpectIn("      2         1  z", FormatInfo(info));
  EXPECT_EQ(VerifyDataSet(
                folder_ / "out", "AUTO", 1, [](int64_t, int64_t) {}, shards)
                .images,
            3);
}

TEST_F(PreparedLabelsTest, ShardsKeepValues) {
  const LabelConfig labels = Labels(LabelConfig::VALUES, "0 0.1 5\n1 0.2 6\n2 0.6 10\n");
  EXPECT_EQ(ConvertDataSet(To("TAR", labels)).written, 3);
  LabelConfig shards;
  shards.set_type(LabelConfig::VALUES);
  const DataSetInfo info = InspectDataSet(folder_ / "out", "TAR", shards);
  ASSERT_EQ(info.values.size(), 2u);
  EXPECT_NEAR(info.values[0].mean, 0.3, 1e-6);
  EXPECT_EQ(info.values[0].least, 0.1f);
  EXPECT_EQ(info.values[1].most, 10);
  ExpectIn("values     2", FormatInfo(info));
}

TEST_F(PreparedLabelsTest, OtherFormatsHoldOneClass) {
  const LabelConfig labels = Labels(LabelConfig::CLASSES, "0 1\n1 0\n2 1\n");
  for (const char* format : {"FOLDER", "LMDB", "IDX"}) {
    ExpectIn("holds one class per image, and labels of type CLASSES are given: write --format=tar",
             ErrorOf([&] { ConvertDataSet(To(format, labels)); }));
  }
}

// One class per image from a file: any format can be written.
TEST_F(PreparedLabelsTest, OneClassOfAFile) {
  const LabelConfig labels = Labels(LabelConfig::CLASS, "0 1\n1 0\n2 1\n");
  EXPECT_EQ(ConvertDataSet(To("FOLDER", labels)).written, 3);
  const auto source = OpenSource("FOLDER", {folder_ / "out", false});
  EXPECT_EQ(source->Key(0), "0/1");
  EXPECT_EQ(source->classes(), 2);
}

}  // namespace
}  // namespace gf

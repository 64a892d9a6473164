// Batches of images with several labels or real values.
#include "data/loader/loader.h"
#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

// A list of `count` flat images; image i has the values i and -i, and the classes i % 3 and i % 4.
void WriteList(const TempFolder& folder, int count, LabelConfig::Type type) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    WriteFile(folder / StrCat(i, ".png"), FlatPng({4, 4}, i));
    list += type == LabelConfig::VALUES ? StrCat(i, ".png ", i, " ", -i, "\n")
                                        : StrCat(i, ".png ", i % 3, " ", i % 4, "\n");
  }
  WriteFile(folder / "list.txt", list);
}

DataConfig ConfigOf(const TempFolder& folder, int batch, LabelConfig::Type type) {
  DataConfig config = Config(folder / "list.txt", batch);
  config.mutable_labels()->set_type(type);
  return config;
}

std::vector<float> Expected(int image, LabelConfig::Type type) {
  const auto value = static_cast<float>(image);
  if (type == LabelConfig::VALUES) return {value, -value};
  std::vector<float> row(4);
  row[image % 3] = row[image % 4] = 1;
  return row;
}

void ExpectRows(const Batch& batch, LabelConfig::Type type) {
  const std::vector<int> numbers = Numbers(batch);
  const int64_t count = static_cast<int64_t>(batch.label_values.size()) / batch.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto row = batch.label_values.begin() + static_cast<int64_t>(i) * count;
    EXPECT_EQ(std::vector<float>(row, row + count), Expected(numbers[i], type)) << numbers[i];
  }
  for (auto i = static_cast<int64_t>(numbers.size()) * count; i < batch.size() * count; ++i) {
    EXPECT_EQ(batch.label_values[i], 0) << "padding";
  }
}

TEST(LabelValues, TrainingShufflesThemWithTheImages) {
  for (const LabelConfig::Type type : {LabelConfig::CLASSES, LabelConfig::VALUES}) {
    TempFolder folder;
    WriteList(folder, 13, type);
    Loader loader(ConfigOf(folder, 4, type), {});
    EXPECT_EQ(loader.label_type(), type);
    EXPECT_EQ(loader.classes(), type == LabelConfig::VALUES ? 2 : 4);
    for (int i = 0; i < 9; ++i) {
      const Batch& batch = loader.Next();
      EXPECT_EQ(batch.labels, std::vector<int64_t>(4));
      ExpectRows(batch, type);
    }
  }
}

TEST(LabelValues, EvaluationPadsWithZeros) {
  for (const LabelConfig::Type type : {LabelConfig::CLASSES, LabelConfig::VALUES}) {
    TempFolder folder;
    WriteList(folder, 10, type);
    for (int rank = 0; rank < 3; ++rank) {
      Loader loader(ConfigOf(folder, 4, type), Ranked(LoaderOptions::kEvaluate, rank, 3));
      for (int64_t i = 0; i < loader.batches(); ++i) ExpectRows(loader.Next(), type);
    }
  }
}

TEST(LabelValues, DamagedImagesTakeTheirLabelsWithThem) {
  TempFolder folder;
  WriteList(folder, 8, LabelConfig::VALUES);
  WriteFile(folder / "2.png", "no image");
  DataConfig config = ConfigOf(folder, 8, LabelConfig::VALUES);
  config.set_on_error(DataConfig::SKIP);
  Loader evaluation(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
  const Batch& batch = evaluation.Next();
  EXPECT_EQ(batch.padding, 1);
  ExpectRows(batch, LabelConfig::VALUES);
  Loader training(config, {});
  for (int i = 0; i < 4; ++i) ExpectRows(training.Next(), LabelConfig::VALUES);
  // A gray image keeps the values of the one that it replaces.
  config.set_on_error(DataConfig::REPLACE);
  config.set_shuffle(false);
  Loader replacing(config, {});
  const Batch& all = replacing.Next();
  EXPECT_EQ(all.label_values[2 * 2], 2);
  EXPECT_EQ(all.label_values[2 * 2 + 1], -2);
}

TEST(LabelValues, OneClassHasNone) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 6, 3);
  Loader loader(Config(folder / "a.tar", 3), {});
  EXPECT_TRUE(loader.Next().label_values.empty());
}

}  // namespace
}  // namespace gf

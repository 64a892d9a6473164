// Damaged samples, as on_error says.
#include <set>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

TEST(LoaderDamage, DamagedSampleEndsTheJobWithItsName) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 20, {13});
  Loader loader(Config(folder / "a.tar", 4), {});
  const std::string message = ErrorOf([&] {
    for (int i = 0; i < 6; ++i) loader.Next();
  });
  EXPECT_NE(message.find("a.tar:s13:"), std::string::npos) << message;
  EXPECT_NE(message.find("PNG: truncated"), std::string::npos) << message;
  EXPECT_NE(message.find("SKIP"), std::string::npos) << message;
  EXPECT_EQ(ErrorOf([&] { loader.Next(); }), message) << "asked again, it says the same";
}

TEST(LoaderDamage, SkippingReplacesInTrainingAndCountsOnce) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 20, {3, 13});
  DataConfig config = Config(folder / "a.tar", 5);
  config.set_on_error(DataConfig::SKIP);
  config.set_shuffle(false);
  config.set_prefetch(1);
  Loader loader(config, {});
  std::vector<int> numbers;
  for (int i = 0; i < 8; ++i) {
    for (const int number : Numbers(loader.Next())) numbers.push_back(number);
  }
  ASSERT_EQ(numbers.size(), 40u);
  for (int i = 0; i < 40; ++i) {
    const int sample = i % 20;
    EXPECT_EQ(numbers[i], sample == 3 || sample == 13 ? sample + 1 : sample);
  }
  EXPECT_EQ(loader.skipped(), 2);
}

TEST(LoaderDamage, SkippingLeavesOutInEvaluation) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 10, {1, 9});
  DataConfig config = Config(folder / "a.tar", 4);
  config.set_on_error(DataConfig::SKIP);
  Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
  std::vector<int> numbers;
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < loader.batches(); ++i) {
    for (const int number : Numbers(loader.Next())) numbers.push_back(number);
    samples.insert(samples.end(), loader.samples().begin(), loader.samples().end());
  }
  EXPECT_EQ(numbers, (std::vector<int>{0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(samples, (std::vector<int64_t>{0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(loader.skipped(), 2);
}

TEST(LoaderDamage, ReplacingKeepsPlacesAndLabelsAndCountsOnce) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 10, {1, 9});
  DataConfig config = Config(folder / "a.tar", 4);
  config.set_on_error(DataConfig::REPLACE);
  config.set_shuffle(false);
  for (const auto mode : {LoaderOptions::kTrain, LoaderOptions::kEvaluate}) {
    Loader loader(config, Ranked(mode, 0, 1));
    std::vector<int> numbers;
    for (int i = 0; i < 3; ++i) {
      for (const int number : Numbers(loader.Next())) numbers.push_back(number);
    }
    numbers.resize(10);
    EXPECT_EQ(numbers, (std::vector<int>{0, 128, 2, 3, 4, 5, 6, 7, 8, 128}));
    EXPECT_EQ(loader.skipped(), 2);
  }
}

TEST(LoaderDamage, ManyDamagedSamplesDoNotFloodTheLog) {
  TempFolder folder;
  std::set<int> damaged;
  for (int i = 5; i < 35; ++i) damaged.insert(i);
  WriteDamagedShard(folder / "a.tar", 40, damaged);
  DataConfig config = Config(folder / "a.tar", 4);
  config.set_on_error(DataConfig::SKIP);
  testing::internal::CaptureStderr();  // workers begin with the loader
  Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
  for (int64_t i = 0; i < loader.batches(); ++i) loader.Next();
  const std::string log = testing::internal::GetCapturedStderr();
  int warnings = 0;
  for (size_t at = log.find("left out: "); at != std::string::npos;
       at = log.find("left out: ", at + 1)) {
    ++warnings;
  }
  EXPECT_EQ(warnings, 20) << log;
  EXPECT_NE(log.find("20 damaged samples so far: further ones get no warning"), std::string::npos)
      << log;
  EXPECT_EQ(loader.skipped(), 30);
}

TEST(LoaderDamage, OnlyDamagedSamplesIsAnErrorNotALoop) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 3, {0, 1, 2});
  DataConfig config = Config(folder / "a.tar", 2);
  config.set_on_error(DataConfig::SKIP);
  config.set_crop_size(2);
  EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("3 images and none can be read"),
            std::string::npos);
  // The same where the headers are good and only the pixels are missing.
  TarWriter tar(folder / "a.tar");
  const auto jpeg = EncodeJpeg(Gradient({64, 64}, 3).data(), {64, 64}, 3, 95);
  tar.Add("a.jpg", jpeg.data(), jpeg.size() / 2 + 400);
  tar.Add("a.cls", "0", 1);
  tar.Close();
  Loader loader(config, {});
  EXPECT_NE(ErrorOf([&] {
              loader.Next();
            }).find("1 consecutive samples are damaged, the first is " + (folder / "a.tar:a")),
            std::string::npos);
}

TEST(LoaderDamage, OddJpegsNeverCrashAndOnlyTheDamagedAreSkipped) {
  GF_REAL_DATA_OR_SKIP(oddities, "jpeg-oddities/jpeg-oddities.tar");
  DataConfig config = Config(oddities, 16);
  config.set_on_error(DataConfig::SKIP);
  config.set_resize_height(32);
  config.set_resize_width(32);
  Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
  int64_t good = 0;
  for (int64_t i = 0; i < loader.batches(); ++i) {
    const Batch& batch = loader.Next();
    good += batch.size() - batch.padding;
  }
  EXPECT_EQ(good + loader.skipped(), 87);
  // An empty file, garbage, and three truncated ones.
  EXPECT_EQ(loader.skipped(), 5);
}

}  // namespace
}  // namespace gf

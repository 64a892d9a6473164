#include "data/loader/loader.h"

#include <chrono>
#include <set>
#include <thread>

#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

TEST(Loader, DeliversPixelsLabelsAndNormalization) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 6, 4, {5, 7});
  DataConfig config = Config(folder / "a.tar", 3);
  config.set_shuffle(false);
  config.add_mean(10);
  for (const float std : {1.f, 2.f, 4.f}) config.add_std(std);
  Loader loader(config, {});
  EXPECT_EQ(loader.image_shape(), (Shape{3, 5, 7}));
  for (int number = 0; number < 4; ++number) {
    const Batch& batch = loader.Next();
    EXPECT_EQ(batch.images.desc.shape, (Shape{3, 3, 5, 7}));
    EXPECT_EQ(batch.images.desc.dtype, DType::kUINT8);
    EXPECT_EQ(batch.position, number * 3);
    EXPECT_EQ(batch.epoch, number / 2);
    EXPECT_EQ(batch.padding, 0);
    EXPECT_EQ(batch.mean, (std::vector<float>{10, 10, 10}));
    EXPECT_EQ(batch.inverse_std, (std::vector<float>{1, 0.5, 0.25}));
    for (int i = 0; i < 3; ++i) {
      const int sample = (number * 3 + i) % 6;
      EXPECT_EQ(batch.labels[i], sample % 4);
      for (int j = 0; j < 105; ++j) ASSERT_EQ(batch.images.as<uint8_t>()[i * 105 + j], sample);
    }
  }
}

TEST(Loader, AnEpochHoldsEachImageOnceOnAnyNumberOfRanks) {
  TempFolder folder;
  for (const int size : {1, 7, 30, 53}) {
    WriteShard(folder / "a.tar", 0, size, 2);
    std::vector<int> first_order;
    for (int world = 1; world <= 9; ++world) {
      constexpr int kBatch = 3;
      // The sequence of positions, put together from all ranks.
      std::vector<int> order;
      std::vector<std::unique_ptr<Loader>> loaders;
      for (int rank = 0; rank < world; ++rank) {
        loaders.push_back(std::make_unique<Loader>(Config(folder / "a.tar", kBatch, 1),
                                                   Ranked(LoaderOptions::kTrain, rank, world)));
      }
      while (static_cast<int>(order.size()) < 2 * size) {
        for (auto& loader : loaders) {
          const std::vector<int> numbers = Numbers(loader->Next());
          order.insert(order.end(), numbers.begin(), numbers.end());
        }
      }
      order.resize(2 * size);
      for (int epoch = 0; epoch < 2; ++epoch) {
        const std::set<int> seen(order.begin() + epoch * size, order.begin() + (epoch + 1) * size);
        EXPECT_EQ(static_cast<int>(seen.size()), size) << "world " << world;
      }
      if (world == 1) first_order = order;
      EXPECT_EQ(order, first_order) << "world " << world;
    }
  }
}

TEST(Loader, EvaluationSeesEachImageOnceAndPadsTheRest) {
  TempFolder folder;
  for (const int size : {1, 4, 10, 23}) {
    WriteShard(folder / "a.tar", 0, size, 2);
    for (const int world : {1, 2, 3, 5, 9}) {
      std::multiset<int> seen;
      std::set<int64_t> batches;
      for (int rank = 0; rank < world; ++rank) {
        Loader loader(Config(folder / "a.tar", 4), Ranked(LoaderOptions::kEvaluate, rank, world));
        batches.insert(loader.batches());
        for (int pass = 0; pass < 2; ++pass) {
          for (int64_t i = 0; i < loader.batches(); ++i) {
            const Batch& batch = loader.Next();
            EXPECT_EQ(batch.size(), 4);
            if (pass == 1) continue;
            for (const int number : Numbers(batch)) seen.insert(number);
          }
          loader.Seek(0);
        }
      }
      EXPECT_EQ(batches.size(), 1u) << "ranks differ in their number of batches";
      EXPECT_EQ(static_cast<int>(seen.size()), size);
      EXPECT_EQ(static_cast<int>(std::set<int>(seen.begin(), seen.end()).size()), size);
    }
  }
}

TEST(Loader, SeekContinuesTheIdenticalSequenceFromAnyPosition) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 11, 2, {8, 8});
  DataConfig config = Config(folder / "a.tar", 4);
  config.set_pad(2);
  config.set_crop_size(8);
  config.set_random_crop(true);
  config.set_mirror(true);
  std::vector<std::vector<uint8_t>> expected;
  std::vector<int64_t> positions;
  Loader straight(config, Ranked(LoaderOptions::kTrain, 1, 2));
  for (int i = 0; i < 12; ++i) {
    positions.push_back(straight.position());
    expected.push_back(Bytes(straight.Next()));
  }
  Loader other(config, Ranked(LoaderOptions::kTrain, 1, 2));
  for (const int start : {7, 0, 11, 3, 3}) {
    other.Seek(positions[start]);
    EXPECT_EQ(other.position(), positions[start]);
    for (int i = start; i < 12; ++i)
      EXPECT_EQ(Bytes(other.Next()), expected[i]) << start << " " << i;
  }
}

TEST(Loader, SaysWhenTheNextBatchIsReady) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 30, 2);
  // Large batches: the first one takes far longer than the way to the question.
  Loader loader(Config(folder / "a.tar", 20000, 1), Ranked(LoaderOptions::kTrain, 0, 1));
  EXPECT_FALSE(loader.Ready());
  for (int i = 0; i < 2; ++i) {
    loader.Next();
    while (!loader.Ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  loader.Seek(0);
  EXPECT_FALSE(loader.Ready());
}

TEST(Loader, SeekFarAheadReadsNothingOnTheWay) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 11, 2);
  Loader loader(Config(folder / "a.tar", 4), {});
  const auto start = std::chrono::steady_clock::now();
  loader.Seek(int64_t{1} << 45);
  loader.Next();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Loader, ResultsDoNotDependOnTheNumberOfWorkers) {
  TempFolder folder;
  WriteDamagedShard(folder / "a.tar", 23, {4, 5, 17});
  std::vector<std::vector<uint8_t>> expected;
  for (const int workers : {1, 2, 7}) {
    DataConfig config = Config(folder / "a.tar", 5, workers);
    config.set_on_error(DataConfig::SKIP);
    config.set_pad(1);
    config.set_crop_size(4);
    config.set_random_crop(true);
    Loader loader(config, {});
    for (size_t i = 0; i < 12; ++i) {
      const auto bytes = Bytes(loader.Next());
      if (workers == 1) expected.push_back(bytes);
      EXPECT_EQ(bytes, expected[i]);
    }
  }
}

TEST(Loader, ACopyOfABatchKeepsItsPixels) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 64, 2);
  Loader loader(Config(folder / "a.tar", 4), {});
  const Batch kept = loader.Next();
  const auto before = Bytes(kept);
  for (int i = 0; i < 20; ++i) loader.Next();
  EXPECT_EQ(Bytes(kept), before);
}

TEST(Loader, BuffersAreUsedAgain) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 16, 2);
  DataConfig config = Config(folder / "a.tar", 4);
  config.set_prefetch(2);
  Loader loader(config, {});
  std::set<const void*> buffers;
  for (int i = 0; i < 50; ++i) buffers.insert(loader.Next().images.data);
  EXPECT_EQ(buffers.size(), 3u);
}

TEST(Loader, ResizedCropsAreExactAcrossWorkersAndSeeks) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  for (int i = 0; i < 7; ++i) {
    const ImageSize size = {90 + 20 * i, 130 - 10 * i};
    const auto jpeg = EncodeJpeg(Gradient(size, 3, i).data(), size, 3, i % 2 ? 80 : 95);
    tar.Add(StrCat("s", i, ".jpg"), jpeg.data(), jpeg.size());
    tar.Add(StrCat("s", i, ".cls"), "0", 1);
  }
  tar.Close();
  DataConfig config = Config(folder / "a.tar", 3);
  config.set_random_resized_crop(true);
  config.set_crop_size(24);
  config.set_mirror(true);
  config.set_brightness(0.4f);
  config.set_lighting(0.1f);
  for (const int shorter : {0, 40}) {
    config.set_resize_shorter(shorter);
    config.set_workers(1);
    std::vector<std::vector<uint8_t>> expected;
    Loader straight(config, {});
    for (int i = 0; i < 8; ++i) expected.push_back(Bytes(straight.Next()));
    EXPECT_NE(expected[0], expected[7]);
    config.set_workers(3);
    Loader other(config, {});
    other.Seek(4 * 3);
    for (int i = 4; i < 8; ++i) EXPECT_EQ(Bytes(other.Next()), expected[i]);
  }
}

TEST(Loader, AWindowOfShuffleSeesEachImageOnceAndResumes) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 90, 2);
  DataConfig config = Config(folder / "a.tar", 9);
  config.set_shuffle_window(30);
  Loader loader(config, {});
  std::vector<int> numbers;
  std::vector<std::vector<uint8_t>> batches;
  for (int i = 0; i < 20; ++i) {
    batches.push_back(Bytes(loader.Next()));
    for (size_t j = 0; j < batches.back().size(); j += 48) numbers.push_back(batches.back()[j]);
  }
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.begin() + 90).size(), 90u);
  EXPECT_EQ(std::set<int>(numbers.begin() + 90, numbers.end()).size(), 90u);
  Loader other(config, {});
  other.Seek(13 * 9);
  for (int i = 13; i < 20; ++i) EXPECT_EQ(Bytes(other.Next()), batches[i]);
}

TEST(Loader, LabelOutOfRangeNamesSampleAndRange) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 12, 11);
  LoaderOptions options;
  options.classes = 10;
  const std::string message = ErrorOf([&] { Loader(Config(folder / "a.tar", 2), options); });
  EXPECT_NE(message.find("a.tar:s10:"), std::string::npos) << message;
  EXPECT_NE(message.find("label 10, expected 0 to 9"), std::string::npos) << message;
}

TEST(Loader, ImagesOfSeveralSizesNeedACropOrResize) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2, {4, 4});
  WriteShard(folder / "b.tar", 3, 3, 2, {6, 5});
  DataConfig config = Config(folder.path(), 3);
  Loader loader(config, {});
  const std::string message = ErrorOf([&] {
    loader.Next();
    loader.Next();
  });
  EXPECT_NE(message.find("b.tar:s"), std::string::npos) << message;
  EXPECT_NE(message.find("crop_size"), std::string::npos) << message;
  config.set_resize_height(6);
  config.set_resize_width(6);
  Loader resized(config, {});
  for (int i = 0; i < 4; ++i) resized.Next();
}

TEST(Loader, GrayAndColorAreConverted) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  const std::string gray = FlatPng({4, 4}, 77, 1), color = FlatPng({4, 4}, 88, 3);
  tar.Add("a.jpg", gray.data(), gray.size());
  tar.Add("a.cls", "0", 1);
  tar.Add("b.png", color.data(), color.size());
  tar.Add("b.cls", "1", 1);
  tar.Close();
  for (const int channels : {1, 3}) {
    DataConfig config = Config(folder / "a.tar", 2);
    config.set_shuffle(false);
    config.set_channels(channels);
    Loader loader(config, {});
    std::vector<uint8_t> expected(16 * channels, 77);
    expected.resize(32 * channels, 88);
    EXPECT_EQ(Bytes(loader.Next()), expected);
  }
}

TEST(Loader, WrongSettingsAreNamed) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2);
  const auto message = [&](const std::function<void(DataConfig*)>& change) {
    DataConfig config = Config(folder / "a.tar", 2);
    change(&config);
    return ErrorOf([&] { Loader(config, {}); });
  };
  using C = DataConfig*;
  EXPECT_NE(message([](C c) { c->set_batch_size(0); }).find("batch_size"), std::string::npos);
  const std::string large = message([](C c) {
    c->set_batch_size(16'000'000);
    c->set_resize_height(100);
    c->set_resize_width(100);
  });
  EXPECT_NE(large.find("batch_size: 16,000,000 images take 480 GB"), std::string::npos) << large;
  EXPECT_NE(message([](C c) { c->set_prefetch(0); }).find("prefetch"), std::string::npos);
  EXPECT_NE(message([](C c) { c->set_workers(-1); }).find("workers"), std::string::npos);
  EXPECT_NE(message([](C c) { c->set_channels(17); }).find("channels"), std::string::npos);
  EXPECT_NE(message([](C c) { c->add_std(0); }).find("std"), std::string::npos);
  EXPECT_NE(message([](C c) { c->add_mean(0), c->add_mean(1); }).find("mean"), std::string::npos);
  EXPECT_NE(message([](C c) { c->clear_source(); }).find("source"), std::string::npos);
  EXPECT_NE(message([](C c) { c->set_crop_size(5); }).find("a.tar:s0:512: crop_size: 5"),
            std::string::npos);
  EXPECT_NE(message([](C c) {
              c->set_pad(4), c->set_pad_mode(DataConfig::REFLECT);
            }).find("a.tar:s0:512: pad: 4 with pad_mode: REFLECT needs images of more than 4"),
            std::string::npos);
}

TEST(Loader, ImagesMoveByLessThanTheirSize) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2, {4, 6});
  DataConfig config = Config(folder / "a.tar", 2);
  const LoaderOptions options = Ranked(LoaderOptions::kEvaluate, 0, 1);
  config.set_test_shifts(3);
  EXPECT_EQ(Loader(config, options).test_shifts(), 3);
  EXPECT_EQ(ErrorOf([&] { Loader(config, {}); }),
            "test_shifts only applies to evaluation; set it in validation_data");
  config.set_test_shifts(4);
  EXPECT_EQ(ErrorOf([&] { Loader(config, options); }),
            "test_shifts: 4, but the net takes images of 4x6 (height x width): set it to less than "
            "both");
}

TEST(Loader, EndsAtOnceWithWorkInFlight) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 64, 2, {64, 64});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    DataConfig config = Config(folder / "a.tar", 64, 3);
    config.set_prefetch(4);
    Loader loader(config, {});
    if (i % 2) loader.Next();
    if (i % 3) loader.Seek(1000);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Loader, RealIdxFilesAreReadInFull) {
  GF_REAL_DATA_OR_SKIP(images, "fashion-mnist/t10k-images-idx3-ubyte.gz");
  DataConfig config = Config(images, 1000);
  config.set_channels(1);
  Loader loader(config, Ranked(LoaderOptions::kEvaluate, 0, 1));
  EXPECT_EQ(loader.image_shape(), (Shape{1, 28, 28}));
  std::vector<int> counts(10);
  for (int64_t i = 0; i < loader.batches(); ++i) {
    for (const int64_t label : loader.Next().labels) ++counts[label];
  }
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
}

}  // namespace
}  // namespace gf

// Random policies, erasing and mixing, from the config to the batch.
#include <algorithm>
#include <set>
#include <vector>

#include "core/device.h"
#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

constexpr ImageSize kSide = {24, 24};

class PolicyLoaderTest : public testing::Test {
 protected:
  PolicyLoaderTest() { WritePictures(folder_ / "a.tar", 7); }

  DataConfig Resized(int batch, int workers = 2) const {
    DataConfig config = Config(folder_ / "a.tar", batch, workers);
    config.set_resize_height(kSide.height);
    config.set_resize_width(kSide.width);
    return config;
  }

  // The batches of two epochs, or the second one.
  static std::vector<std::vector<uint8_t>> Batches(const DataConfig& config, int64_t from = 0) {
    Loader loader(config, {});
    loader.Seek(from * config.batch_size());
    std::vector<std::vector<uint8_t>> batches;
    for (int64_t i = from; i < 2; ++i) batches.push_back(Bytes(loader.Next()));
    return batches;
  }

  const TempFolder folder_;
};

TEST_F(PolicyLoaderTest, BatchesDependOnNeitherThreadsNorCacheNorResume) {
  for (const auto type : {PolicyConfig::RAND_AUGMENT, PolicyConfig::TRIVIAL_AUGMENT_WIDE}) {
    DataConfig config = Resized(7, 1);
    config.set_cache_mib(1);
    config.mutable_policy()->set_type(type);
    config.mutable_erasing()->set_probability(0.5);
    const auto expected = Batches(config);
    EXPECT_NE(expected[0], expected[1]);
    config.set_workers(3);
    EXPECT_EQ(Batches(config), expected);
    EXPECT_EQ(Batches(config, 1)[0], expected[1]);
    DataConfig plain = Resized(7, 1);
    plain.set_cache_mib(1);
    EXPECT_NE(Batches(plain), expected);
  }
}

TEST_F(PolicyLoaderTest, ValidationIsNeverChanged) {
  LoaderOptions options;
  options.mode = LoaderOptions::kEvaluate;
  DataConfig config = Resized(7);
  Loader plain(config, options);
  config.mutable_policy()->set_type(PolicyConfig::TRIVIAL_AUGMENT_WIDE);
  config.mutable_erasing()->set_probability(1);
  Loader loader(config, options);
  EXPECT_EQ(Bytes(loader.Next()), Bytes(plain.Next()));
}

// Where two pictures differ, all of `after` is `erased`, and this is a rectangle.
template <typename Number>
void ExpectRectangle(const Number* before, const Number* after, int64_t pixel, int64_t channel,
                     const std::vector<Number>& erased, double* share) {
  int top = kSide.height, left = kSide.width, bottom = 0, right = 0;
  const auto equal = [&](int y, int x, const std::vector<Number>* to) {
    for (size_t c = 0; c < erased.size(); ++c) {
      const int64_t at = (y * kSide.width + x) * pixel + static_cast<int64_t>(c) * channel;
      if (after[at] != (to != nullptr ? (*to)[c] : before[at])) return false;
    }
    return true;
  };
  for (int y = 0; y < kSide.height; ++y) {
    for (int x = 0; x < kSide.width; ++x) {
      if (equal(y, x, nullptr)) continue;
      top = std::min(top, y);
      left = std::min(left, x);
      bottom = std::max(bottom, y + 1);
      right = std::max(right, x + 1);
    }
  }
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) EXPECT_TRUE(equal(y, x, &erased)) << y << " " << x;
  }
  *share = static_cast<double>(bottom - top) * (right - left) / static_cast<double>(kSide.pixels());
}

TEST_F(PolicyLoaderTest, ErasedBytesAreTheNearestLevelToTheMean) {
  DataConfig config = Resized(7);
  for (const float mean : {250.4f, 251.6f, -3.f}) config.add_mean(mean);
  const auto before = Batches(config);
  config.mutable_erasing()->set_probability(1);
  config.mutable_erasing()->set_min_area(0.1f);
  const auto after = Batches(config);
  const int64_t bytes = kSide.pixels() * 3;
  std::set<double> shares;
  for (int i = 0; i < 14; ++i) {
    double share = 0;
    ExpectRectangle<uint8_t>(&before[i / 7][i % 7 * bytes], &after[i / 7][i % 7 * bytes], 3, 1,
                             {250, 252, 0}, &share);
    EXPECT_TRUE(share > 0.07 && share < 0.37) << share;
    shares.insert(share);
  }
  EXPECT_GT(shares.size(), 6u);
}

TEST_F(PolicyLoaderTest, ErasedFloatsAreZero) {
  DataConfig config = Resized(7);
  config.set_pixel_type(DataConfig::UINT16);
  for (const float mean : {30000.5f, -3.f, 70000.f}) config.add_mean(mean);
  const auto before = Batches(config);
  config.mutable_erasing()->set_probability(1);
  config.mutable_erasing()->set_min_area(0.1f);
  const auto after = Batches(config);
  for (int i = 0; i < 7; ++i) {
    const int64_t first = i * kSide.pixels() * 3;
    double share = 0;
    ExpectRectangle<float>(reinterpret_cast<const float*>(before[0].data()) + first,
                           reinterpret_cast<const float*>(after[0].data()) + first, 1,
                           kSide.pixels(), {0, 0, 0}, &share);
    EXPECT_TRUE(share > 0.07 && share < 0.37) << share;
  }
}

TEST_F(PolicyLoaderTest, AlternateMirrorShowsBothFormsInTwoEpochs) {
  DataConfig config = Resized(7);
  config.set_shuffle(false);
  const std::vector<uint8_t> plain = Batches(config)[0];
  config.set_mirror(true);
  config.set_alternate_mirror(true);
  for (const int64_t device_mib : {0, 1}) {
    config.set_device_cache_mib(device_mib);
    const auto device = DeviceRegistry::Get().Create("device", "cpu", 1);
    LoaderOptions options;
    options.device = device.get();
    Loader loader(config, options);
    std::vector<bool> first;
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      const Batch& batch = loader.Next();
      for (int i = 0; i < 7; ++i) {
        const int64_t bytes = kSide.pixels() * 3;
        const bool mirrored = device_mib > 0
                                  ? batch.cuts[i].mirrored != 0
                                  : !std::equal(&plain[i * bytes], &plain[i * bytes] + bytes,
                                                batch.images.as<uint8_t>() + i * bytes);
        if (epoch == 0) first.push_back(mirrored);
        EXPECT_EQ(mirrored, first[i] != (epoch % 2 == 1)) << epoch << " " << i;
      }
    }
    // Both occur; the seed decides.
    EXPECT_NE(std::count(first.begin(), first.end(), true), 0);
    EXPECT_NE(std::count(first.begin(), first.end(), true), 7);
  }
}

TEST_F(PolicyLoaderTest, MixesDependOnThePositionAlone) {
  DataConfig config = Resized(4);
  config.mutable_mix()->set_mixup(0.4f);
  config.mutable_mix()->set_cutmix(1);
  const auto mixes = [&](LoaderOptions options, int64_t from) {
    Loader loader(config, options);
    loader.Seek(from * 4 * options.world);
    std::vector<std::vector<float>> found;
    for (int64_t i = from; i < 9; ++i) {
      const BatchMix& mix = loader.Next().mix;
      found.push_back({static_cast<float>(mix.top), static_cast<float>(mix.left),
                       static_cast<float>(mix.height), static_cast<float>(mix.width),
                       mix.pixel_share, mix.label_share});
    }
    return found;
  };
  const auto expected = mixes({}, 0);
  EXPECT_GT(std::set<std::vector<float>>(expected.begin(), expected.end()).size(), 6u);
  EXPECT_EQ(mixes({}, 5), std::vector<std::vector<float>>(expected.begin() + 5, expected.end()));
  // Two ranks take the batches of one rank in turn.
  const auto second = mixes(Ranked(LoaderOptions::kTrain, 1, 2), 0);
  EXPECT_EQ(second[0], expected[1]);
  EXPECT_EQ(second[1], expected[3]);
  LoaderOptions other;
  other.seed = 2;
  EXPECT_NE(mixes(other, 0), expected);
  LoaderOptions evaluation;
  evaluation.mode = LoaderOptions::kEvaluate;
  Loader loader(config, evaluation);
  EXPECT_FALSE(loader.Next().mix.any());
}

TEST_F(PolicyLoaderTest, LabelValuesAreMixedWithThoseOfTheImageBefore) {
  std::string labels;
  for (int i = 0; i < 7; ++i) labels += StrCat("s", i, ",", i, ",", 10 * i * i, "\n");
  WriteFile(folder_ / "values.csv", labels);
  DataConfig config = Resized(4);
  config.mutable_labels()->set_type(LabelConfig::VALUES);
  config.mutable_labels()->set_count(2);
  config.mutable_labels()->set_file(folder_ / "values.csv");
  Loader plain(config, {});
  config.mutable_mix()->set_mixup(1);
  Loader loader(config, {});
  for (int i = 0; i < 5; ++i) {
    const std::vector<float> before = plain.Next().label_values;
    const Batch& batch = loader.Next();
    const float share = batch.mix.label_share;
    ASSERT_TRUE(share > 0 && share < 1);
    ASSERT_EQ(batch.label_values.size(), 8u);
    for (int image = 0; image < 4; ++image) {
      for (int k = 0; k < 2; ++k) {
        const float own = before[2 * image + k], other = before[2 * ((image + 3) % 4) + k];
        EXPECT_NEAR(batch.label_values[2 * image + k], share * own + (1 - share) * other, 1e-4);
      }
    }
  }
}

TEST_F(PolicyLoaderTest, ReplacedImagesAreGrayWithoutARectangle) {
  WriteDamagedShard(folder_ / "mixed.tar", 3, {1});
  DataConfig config = Config(folder_ / "mixed.tar", 3);
  config.set_on_error(DataConfig::REPLACE);
  config.mutable_erasing()->set_probability(1);
  config.mutable_policy()->set_type(PolicyConfig::TRIVIAL_AUGMENT_WIDE);
  for (int epoch = 0; epoch < 20; ++epoch) {
    Loader loader(config, {});
    loader.Seek(3 * epoch);
    const std::vector<uint8_t> batch = Bytes(loader.Next());
    int gray = 0;
    for (int image = 0; image < 3; ++image) {
      const auto begin = batch.begin() + image * 48;
      gray += std::all_of(begin, begin + 48, [](uint8_t level) { return level == 128; });
    }
    EXPECT_EQ(gray, 1);
  }
}

}  // namespace
}  // namespace gf

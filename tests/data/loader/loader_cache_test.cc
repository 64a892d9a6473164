// Caches of decoded images, and shares of the data that they serve.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/loader/loader.h"
#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

TEST(LoaderCache, TheCacheChangesNothingWhereverItIsAndHoweverSmall) {
  TempFolder folder;
  WritePictures(folder / "a.tar", 30);
  for (const bool resized : {false, true}) {
    DataConfig config = Config(folder / "a.tar", 8);
    config.set_resize_shorter(32);
    config.set_crop_size(24);
    config.set_mirror(true);
    config.set_random_resized_crop(resized);
    config.set_random_crop(!resized);
    config.set_brightness(0.2f);
    std::vector<std::vector<uint8_t>> expected;
    const auto run = [&](const std::string& what) {
      Loader loader(config, {});
      for (int i = 0; i < 12; ++i) {
        const auto bytes = Bytes(loader.Next());
        if (what == "first") expected.push_back(bytes);
        ASSERT_EQ(bytes, expected[i]) << what << " " << i;
      }
      EXPECT_GT(loader.cached_images(), 0);
      EXPECT_EQ(loader.cached_images(), 30);
    };
    config.set_cache_mib(1);
    run("first");
    config.set_cache_file(folder / StrCat("cache", resized));
    run("file");
    // All of it is there now: the data set itself is not read any more.
    const std::string tar = ReadFile(folder / "a.tar");
    {
      Loader loader(config, {});
      std::string zeros = tar;
      for (size_t i = 512; i + 512 < zeros.size(); ++i) {
        if (zeros.compare(i, 3, "\xff\xd8\xff") == 0) zeros[i] = 0;
      }
      WriteFile(folder / "a.tar", zeros);
      for (int i = 0; i < 12; ++i) EXPECT_EQ(Bytes(loader.Next()), expected[i]);
      WriteFile(folder / "a.tar", tar);
    }
    config.set_crop_size(23);
    Loader(config, {}).Next();
    config.set_resize_shorter(33);
    EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("other settings"), std::string::npos);
    config.set_cache_mib(2);
    EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("cache_mib"), std::string::npos);
  }
}

// A mapped file would end the process here.
TEST(LoaderCache, ACacheFileThatIsCutOffIsGivenUp) {
  TempFolder folder;
  WritePictures(folder / "a.tar", 30);
  DataConfig config = Config(folder / "a.tar", 10);
  config.set_resize_height(32);
  config.set_resize_width(32);
  config.set_cache_mib(1);
  config.set_prefetch(1);
  Loader memory(config, {});
  config.set_cache_file(folder / "cache");
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{4096}}) {
    std::filesystem::remove(folder / "cache");
    memory.Seek(0);
    Loader filling(config, {}), full(config, {});
    EXPECT_EQ(Bytes(full.Next()), Bytes(memory.Next()));
    // No worker is about to write: the batches ahead are decoded.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::filesystem::resize_file(folder / "cache", bytes);
    for (int i = 0; i < 6; ++i) {
      const auto expected = Bytes(memory.Next());
      EXPECT_EQ(Bytes(full.Next()), expected) << bytes;
    }
    for (int i = 0; i < 6; ++i) filling.Next();
    EXPECT_EQ(filling.cached_images(), 0);
    EXPECT_EQ(std::filesystem::file_size(folder / "cache"), bytes) << "nobody writes to it";
    // An empty file is a new cache.
    if (bytes > 0) {
      EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("delete it"), std::string::npos);
    }
  }
}

// A cache file must not serve images of another folder that have the same keys.
TEST(LoaderCache, ACacheFileIsOfOnePlace) {
  TempFolder folder;
  WritePictures(folder / "a.tar", 10);
  WriteFile(folder / "list.txt", "a.png 0\n");
  for (const char* root : {"one", "two"}) {
    WriteFile(folder / StrCat(root, "/a.png"), FlatPng({16, 16}, root[0]));
  }
  DataConfig config = Config(folder / "list.txt", 1);
  config.set_root_folder(folder / "one");
  config.set_cache_mib(1);
  config.set_cache_file(folder / "cache");
  Loader(config, {}).Next();
  EXPECT_NO_THROW(Loader(config, {}));
  config.set_root_folder(folder / "two");
  EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("delete it"), std::string::npos);
}

TEST(LoaderCache, RanksShareACacheFile) {
  TempFolder folder;
  WritePictures(folder / "a.tar", 40);
  DataConfig config = Config(folder / "a.tar", 5);
  config.set_resize_height(16);
  config.set_resize_width(16);
  config.set_cache_mib(1);
  config.set_cache_file(folder / "cache");
  Loader first(config, Ranked(LoaderOptions::kTrain, 0, 2));
  Loader second(config, Ranked(LoaderOptions::kTrain, 1, 2));
  for (int i = 0; i < 4; ++i) {
    first.Next();
    second.Next();
  }
  // Decoded ahead, too.
  EXPECT_EQ(first.cached_images(), second.cached_images());
  EXPECT_GE(first.cached_images(), 40);
}

TEST(LoaderCache, ACacheOfAShareServesARankWhoseShareMovesOn) {
  TempFolder folder;
  WritePictures(folder / "a.tar", 80);
  DataConfig config = CropConfig(folder / "a.tar", 5, 100, 90);
  config.set_exchange(0.25);
  config.set_prefetch(1);
  const LoaderOptions options = Ranked(LoaderOptions::kTrain, 2, 4);
  Loader plain(config, options);
  config.set_cache_mib(1);  // 34 images of 30 kB; a share has 20
  Loader cached(config, options);
  std::set<int64_t> labels;
  for (int pass = 0; pass < 12; ++pass) {
    for (int i = 0; i < 4; ++i) {
      const Batch& batch = cached.Next();
      // Decoding at full size for the cache and straight into the crop differ by a level or two.
      const auto a = Bytes(plain.Next()), b = Bytes(batch);
      for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 2);
      labels.insert(batch.labels.begin(), batch.labels.end());
    }
    // The next share, as far as it was this one's or is decoded ahead; and what was decoded once
    // more when it had left. Without an end to that the cache would be full after some passes.
    EXPECT_GE(cached.cached_images(), 15);
    EXPECT_LE(cached.cached_images(), 30);
    // All of the share is new four passes later, and all is seen in the end.
    EXPECT_EQ(static_cast<int>(labels.size()), std::min(80, 20 + 5 * pass)) << pass;
  }
  EXPECT_EQ(cached.position(), 12 * 80);
}

TEST(LoaderCache, WrongSharesAreRefused) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 2);
  DataConfig config = Config(folder / "a.tar", 2);
  config.set_exchange(1.5);
  EXPECT_EQ(ErrorOf([&] { Loader(config, {}); }), "exchange is 1.5, must be at most 1");
  config.set_exchange(0.5);
  EXPECT_NE(ErrorOf([&] {
              Loader(config, Ranked(LoaderOptions::kTrain, 0, 4));
            }).find("3 images cannot be divided among 4 ranks"),
            std::string::npos);
  config.set_shuffle_window(2);
  EXPECT_NE(ErrorOf([&] { Loader(config, {}); }).find("shuffle_window"), std::string::npos);
}

}  // namespace
}  // namespace gf

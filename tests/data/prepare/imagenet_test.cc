// Shards from the official archives, on small ones of the same make.
#include "data/prepare/imagenet.h"

#include <algorithm>
#include <set>

#include "data/formats/record_source.h"
#include "data/prepare/imagenet_lists.h"
#include "data/prepare/verify.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

const std::vector<std::string> kSynsets = {"n00000003", "n00000001", "n00000002"};
constexpr int kPerSynset = 7, kValidation = 11;

std::string Jpeg(ImageSize size, int shift) {
  return ToText(EncodeJpeg(Gradient(size, 3, shift).data(), size, 3, 90));
}

// A miniature of the archives: tars of synsets in no order; validation images likewise.
class Archives {
 public:
  Archives() {
    TarWriter outer(folder_ / "train.tar");
    for (size_t s = 0; s < kSynsets.size(); ++s) {
      TarWriter inner(folder_ / "inner.tar");
      for (int i = 0; i < kPerSynset; ++i) {
        const std::string jpeg = Jpeg({40 + 2 * i, 60}, static_cast<int>(10 * s) + i);
        inner.Add(StrCat(kSynsets[s], "_", i, ".JPEG"), jpeg.data(), jpeg.size());
      }
      inner.Close();
      const std::string tar = ReadFile(folder_ / "inner.tar");
      outer.Add(kSynsets[s] + ".tar", tar.data(), tar.size());
    }
    outer.Close();
    TarWriter val(folder_ / "val.tar");
    for (int i = kValidation; i > 0; --i) {
      const std::string jpeg = Jpeg({50, 30 + i}, i);
      val.Add(ValName(i) + ".JPEG", jpeg.data(), jpeg.size());
    }
    val.Close();
    std::string names, ids, synsets;
    for (int i = 1; i <= kValidation; ++i) {
      names += StrCat(ValName(i), ".JPEG ", i % 3, "\n");
      ids += StrCat(1 + (i % 3 + 1) % 3, "\n");
      synsets += StrCat("n0000000", i % 3 + 1, "\n");
    }
    WriteFile(folder_ / "names.txt", names);
    WriteFile(folder_ / "ids.txt", ids);
    WriteFile(folder_ / "synsets.txt", synsets);
    WriteFile(folder_ / "map.txt", "n00000003 1 c\nn00000001 2 a\nn00000002 3 b\n");
    WriteFile(folder_ / "classes.txt", "n00000001 : one\nn00000002 two, zwei\nn00000003\n");
  }

  static std::string ValName(int i) {
    return StrCat("ILSVRC2012_val_", 10000000 + i).substr(0, 23);
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  ImageNetOptions Options(const std::string& out) const {
    ImageNetOptions options;
    options.train = folder_ / "train.tar";
    options.val = folder_ / "val.tar";
    options.val_labels = folder_ / "names.txt";
    options.out = folder_ / out;
    options.train_shards = 4;
    options.val_shards = 2;
    return options;
  }

 private:
  TempFolder folder_;
};

void Nothing(const ImageNetProgress&) {}

std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = ReadFile(entry.path().string());
  }
  return files;
}

TEST(ImageNet, EveryImageLiesOnceInShardsOfEqualSizeUnderItsClass) {
  Archives archives;
  const ImageNetProgress progress = PackImageNet(archives.Options("out"), Nothing);
  EXPECT_EQ(progress.images_done, 3 * kPerSynset + kValidation);
  EXPECT_EQ(progress.shards_done, 6);
  std::set<std::string> keys;
  std::vector<int64_t> order;
  for (int shard = 0; shard < 4; ++shard) {
    const auto source =
        OpenSource("TAR", {archives / StrCat("out/train-00000", shard, ".tar"), false});
    EXPECT_TRUE(source->size() == 5 || source->size() == 6);
    for (int64_t i = 0; i < source->size(); ++i) {
      const std::string key = source->Key(i);
      keys.insert(key);
      order.push_back(source->Label(i));
      EXPECT_EQ(key.substr(0, 9), StrCat("n0000000", source->Label(i) + 1));
    }
  }
  EXPECT_EQ(keys.size(), 3u * kPerSynset);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end())) << "not shuffled";
  const auto val = OpenSource("TAR", {archives / "out/val-*.tar", false});
  ASSERT_EQ(val->size(), kValidation);
  for (int i = 0; i < kValidation; ++i) {
    EXPECT_EQ(val->Key(i), Archives::ValName(i + 1));
    EXPECT_EQ(val->Label(i), (i + 1) % 3);
  }
  EXPECT_EQ(ReadFile(archives / "out/classes.txt"), "n00000001\nn00000002\nn00000003\n");
}

TEST(ImageNet, ShardsDoNotDependOnTheWorkers) {
  Archives archives;
  ImageNetOptions one = archives.Options("one"), three = archives.Options("three");
  one.workers = 1;
  three.workers = 3;
  one.resize.shorter = three.resize.shorter = 32;
  PackImageNet(one, Nothing);
  PackImageNet(three, Nothing);
  EXPECT_EQ(Contents(archives / "one"), Contents(archives / "three"));
  three.out = archives / "other";
  three.seed = 2;
  PackImageNet(three, Nothing);
  EXPECT_NE(ReadFile(archives / "one/train-000000.tar"),
            ReadFile(archives / "other/train-000000.tar"));
}

TEST(ImageNet, WorkThatWasBrokenOffGoesOn) {
  Archives archives;
  const ImageNetOptions options = archives.Options("out");
  PackImageNet(options, Nothing);
  const auto whole = Contents(archives / "out");
  std::filesystem::remove(archives / "out/train-000002.tar");
  std::filesystem::remove(archives / "out/val-000001.tar");
  WriteFile(archives / "out/train-000002-partial.tar", "cut");
  const ImageNetProgress progress = PackImageNet(options, Nothing);
  EXPECT_EQ(progress.found, 3 * kPerSynset + kValidation - 5 - 6);
  EXPECT_EQ(Contents(archives / "out"), whole);
  ImageNetOptions other = options;
  other.seed = 9;
  EXPECT_NE(ErrorOf([&] { PackImageNet(other, Nothing); }).find("other settings"),
            std::string::npos);
}

TEST(ImageNet, AShardThatCannotBeRenamedIsAUserError) {
  Archives archives;
  const ImageNetOptions options = archives.Options("out");
  PackImageNet(options, Nothing);
  const std::string index = archives / "out/train-000002.idx";
  std::filesystem::remove(archives / "out/train-000002.tar");
  std::filesystem::remove(index);
  std::filesystem::create_directories(index);
  const std::string error = ErrorOf([&] { PackImageNet(options, Nothing); });
  EXPECT_EQ(error.find("cannot rename "), 0u) << error;
  EXPECT_NE(error.find(" to " + index + ": Is a directory"), std::string::npos) << error;
}

TEST(ImageNet, LargerImagesAreResizedByTheirShorterSideAndOthersKeepTheirBytes) {
  Archives archives;
  ImageNetOptions options = archives.Options("out");
  options.resize.shorter = 45;
  PackImageNet(options, Nothing);
  const auto source = OpenSource("TAR", {archives / "out/train-*.tar", false});
  Record record;
  int kept = 0;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    const ImageSize size = ProbeImage(record.data, record.size).size;
    if (size.width == 60) {
      EXPECT_LE(size.height, 45);
      ++kept;
    } else {
      EXPECT_EQ(size.height, 45);
      const int height = 40 + 2 * (source->Key(i).back() - '0');
      EXPECT_EQ(size.width, (60 * 45 + height / 2) / height);
    }
  }
  EXPECT_EQ(kept, 3 * 3);  // heights 40, 42, 44
}

TEST(ImageNet, TheListsOfValidationClassesMeanTheSame) {
  Archives archives;
  const Synsets synsets = Synsets::FromFile(archives / "classes.txt");
  EXPECT_EQ(synsets.descriptions(),
            (std::vector<std::string>{"n00000001 one", "n00000002 two, zwei", "n00000003"}));
  std::vector<std::string> images;
  std::vector<int64_t> expected;
  for (int i = 1; i <= kValidation; ++i) {
    images.push_back(Archives::ValName(i));
    expected.push_back(i % 3);
  }
  const auto read = [&](const std::string& list, const std::string& map) {
    return ReadValidationLabels(archives / list, map, synsets, images);
  };
  EXPECT_EQ(read("names.txt", ""), expected);
  EXPECT_EQ(read("synsets.txt", ""), expected);
  EXPECT_EQ(read("ids.txt", archives / "map.txt"), expected);
  EXPECT_NE(ErrorOf([&] { read("ids.txt", ""); }).find("--id_map"), std::string::npos);
  images.pop_back();
  EXPECT_NE(ErrorOf([&] { read("names.txt", ""); }).find("11 lines"), std::string::npos);
}

TEST(ImageNet, RealListsOfValidationClassesAgree) {
  GF_REAL_DATA_OR_SKIP(meta, "imagenet-meta");
  const Synsets synsets = Synsets::FromFile(meta + "/synsets.txt");
  EXPECT_EQ(synsets.size(), 1000);
  EXPECT_EQ(Synsets::FromFile(meta + "/LOC_synset_mapping.txt").descriptions()[0],
            "n01440764 tench, Tinca tinca");
  std::vector<std::string> images;
  for (int i = 1; i <= 50000; ++i) {
    images.push_back("ILSVRC2012_val_" + std::to_string(100000000 + i).substr(1));
  }
  const auto by_name = ReadValidationLabels(meta + "/val.txt", "", synsets, images);
  EXPECT_EQ(ReadValidationLabels(meta + "/val_synsets.txt", "", synsets, images), by_name);
  EXPECT_EQ(ReadValidationLabels(meta + "/ILSVRC2012_validation_ground_truth.txt",
                                 meta + "/map_clsloc.txt", synsets, images),
            by_name);
}

TEST(ImageNet, WrongInputIsExplained) {
  Archives archives;
  const auto message = [&](const std::function<void(ImageNetOptions*)>& change) {
    ImageNetOptions options = archives.Options("wrong");
    change(&options);
    return ErrorOf([&] { PackImageNet(options, Nothing); });
  };
  using O = ImageNetOptions*;
  EXPECT_NE(message([&](O o) { o->train = o->val; }).find("ILSVRC2012_img_train.tar?"),
            std::string::npos);
  EXPECT_NE(message([&](O o) { o->val = o->train; }).find("ILSVRC2012_img_val.tar?"),
            std::string::npos);
  EXPECT_NE(message([&](O o) { o->val_labels.clear(); }).find("--val_labels"), std::string::npos);
  EXPECT_NE(message([&](O o) { o->train.clear(); }).find("--synsets"), std::string::npos);
  EXPECT_NE(message([&](O o) { o->train_shards = 0; }).find("train_shards"), std::string::npos);
  WriteFile(archives / "two.txt", "n00000001\nn00000003\n");
  EXPECT_NE(message([&](O o) { o->synsets = archives / "two.txt"; }).find("none of the 2 synsets"),
            std::string::npos);
  const std::string whole = ReadFile(archives / "train.tar");
  WriteFile(archives / "cut.tar", whole.substr(0, whole.size() / 2));
  EXPECT_NE(message([&](O o) { o->train = archives / "cut.tar"; }).find("cut.tar:"),
            std::string::npos);
}

TEST(ImageNet, BothSidesCanBeResized) {
  Archives archives;
  ImageNetOptions options = archives.Options("out");
  options.resize.both = {33, 44};
  PackImageNet(options, Nothing);
  const auto source = OpenSource("TAR", {archives / "out/*.tar", false});
  EXPECT_EQ(source->size(), 3 * kPerSynset + kValidation);
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    EXPECT_EQ(ProbeImage(record.data, record.size).size.ToString(), "33x44 (height x width)");
  }
  // The size is one of the settings that must not change on the way.
  options.resize.both = {44, 33};
  EXPECT_NE(ErrorOf([&] { PackImageNet(options, Nothing); }).find("resize 33x44"),
            std::string::npos);
}

TEST(ImageNet, ADamagedImageIsNamedOrLeftOut) {
  Archives archives;
  std::string val = ReadFile(archives / "val.tar");
  // Zeros over the middle of the first image's header.
  std::fill_n(val.begin() + 512, 300, '\0');
  WriteFile(archives / "val.tar", val);
  ImageNetOptions options = archives.Options("out");
  options.resize.shorter = 20;
  EXPECT_NE(ErrorOf([&] { PackImageNet(options, Nothing); }).find("val.tar:ILSVRC2012_val_"),
            std::string::npos);
  options.skip_damaged = true;
  EXPECT_EQ(PackImageNet(options, Nothing).damaged, 1);
  EXPECT_EQ(OpenSource("TAR", {archives / "out/val-*.tar", false})->size(), kValidation - 1);
}

TEST(Verify, NamesDamageAndCountsOddities) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  const auto add = [&](const std::string& key, const std::string& bytes) {
    tar.Add(key + ".jpg", bytes.data(), bytes.size());
    tar.Add(key + ".cls", "0", 1);
  };
  const std::string jpeg = Jpeg({30, 40}, 0);
  add("good", jpeg);
  add("png", FlatPng({5, 6}, 10));
  add("gray", ToText(EncodeJpeg(Gradient({8, 9}, 1).data(), {8, 9}, 1, 90)));
  add("cut", jpeg.substr(0, jpeg.size() / 2));
  tar.Close();
  const auto none = [](int64_t, int64_t) {};
  const Verification result = VerifyDataSet(folder / "a.tar", "AUTO", 2, none);
  EXPECT_EQ(result.images, 4);
  ASSERT_EQ(result.damaged.size(), 1u);
  EXPECT_NE(result.damaged[0].find("a.tar:cut:"), std::string::npos);
  EXPECT_EQ(result.oddities, (std::map<std::string, int64_t>{{"PNG", 1}, {"grayscale", 1}}));
}

TEST(Stats, MeansAndDeviationsAreThoseOfThePixels) {
  TempFolder folder;
  TarWriter tar(folder / "a.tar");
  for (const int value : {10, 30}) {
    const std::string png = FlatPng({40, 50 + value}, value);
    tar.Add(StrCat(value, ".png"), png.data(), png.size());
    tar.Add(StrCat(value, ".cls"), "0", 1);
  }
  tar.Close();
  const DataSetStatistics result =
      MeasureDataSet(folder / "a.tar", "AUTO", 2, [](int64_t, int64_t) {});
  EXPECT_EQ(result.images, 2);
  for (int c = 0; c < 3; ++c) {
    EXPECT_DOUBLE_EQ(result.mean[c], 20);
    EXPECT_DOUBLE_EQ(result.std[c], 10);
  }
  EXPECT_DOUBLE_EQ(result.mean_pixels, 40 * 70);
  EXPECT_EQ(result.shorter_sides[1].limit, 64);
  EXPECT_EQ(result.shorter_sides[1].images, 2);
}

TEST(Stats, DamagedImagesAreNamedAndNothingElseIsAnError) {
  TempFolder folder;
  const auto write = [&](const std::string& good) {
    TarWriter tar(folder / "a.tar");
    for (int i = 0; i < 9; ++i) {
      const std::string image = i == 0 ? good : "junk";
      tar.Add(StrCat("k", i, ".png"), image.data(), image.size());
      tar.Add(StrCat("k", i, ".cls"), "0", 1);
    }
    tar.Close();
  };
  const auto measure = [&] {
    return MeasureDataSet(folder / "a.tar", "AUTO", 2, [](int64_t, int64_t) {});
  };
  write(FlatPng({2, 2}, 5));
  const DataSetStatistics result = measure();
  EXPECT_EQ(result.damaged, 8);
  ASSERT_EQ(result.damaged_examples.size(), 5u);
  EXPECT_NE(result.damaged_examples[0].find("a.tar:k1:"), std::string::npos);
  write("junk");
  const std::string message = ErrorOf([&] { measure(); });
  EXPECT_NE(message.find("a.tar: none of its 9 images can be decoded"), std::string::npos);
  EXPECT_NE(message.find("a.tar:k0:512: not an image in a known format"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace gf

// Images that a loader keeps on the device: what enters a net is what enters it without.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "data/loader/device_places.h"
#include "data/loader/loader.h"
#include "tests/data/loader/loader_util.h"

namespace gf {
namespace {

// What enters a net of a batch, as kernels for inputs do it; counts the images sent.
std::vector<uint8_t> TakeIn(const Batch& batch, const Shape& image, int* sent) {
  const int64_t channels = image[0], height = image[1], width = image[2];
  const Shape input = {batch.size(), channels, height, width};
  EXPECT_TRUE(batch.Fits(input));
  const Shape& own = batch.images.desc.shape;
  const int64_t bytes = own.count(1, 4);
  std::vector<uint8_t> out(input.count());
  size_t at = 0;
  for (int64_t n = 0; n < batch.size(); ++n) {
    const uint8_t* from = batch.images.as<uint8_t>() + n * bytes;
    *sent += batch.kept.there[n] ? 0 : 1;
    if (const int64_t place = batch.kept.places[n]; place >= 0) {
      if (!batch.kept.there[n]) std::memcpy(batch.kept.At(place), from, bytes);
      from = batch.kept.At(place);
    }
    const ImageCut& cut = batch.cuts[n];
    for (int64_t line = cut.top; line < cut.top + height; ++line) {
      for (int64_t x = 0; x < width; ++x) {
        int64_t y = line, column = cut.left + (cut.mirrored != 0 ? width - 1 - x : x);
        if (cut.reflected != 0) {
          y = Reflected(static_cast<int>(y), static_cast<int>(own[2]));
          column = Reflected(static_cast<int>(column), static_cast<int>(own[3]));
        }
        const bool inside = y >= 0 && y < own[2] && column >= 0 && column < own[3];
        for (int64_t c = 0; c < channels; ++c) {
          out[at++] = inside ? from[(y * own[3] + column) * channels + c] : 0;
        }
      }
    }
  }
  return out;
}

class DeviceCacheTest : public testing::Test {
 protected:
  // A loader with images on the device beside one without.
  void Start(DataConfig config, LoaderOptions options = {}) {
    config.set_device_cache_mib(0);
    config.set_cache_mib(16);  // so that images are decoded at the same size
    plain_ = std::make_unique<Loader>(config, options);
    config.set_cache_mib(0);
    config.set_device_cache_mib(1);
    options.device = device_.get();
    keeping_ = std::make_unique<Loader>(config, options);
    sent_ = 0;
  }

  // Compares the next batches.
  void ExpectSame(int batches) {
    ASSERT_EQ(keeping_->image_shape(), plain_->image_shape());
    for (int i = 0; i < batches; ++i) {
      const Batch& expected = plain_->Next();
      const Batch& batch = keeping_->Next();
      ASSERT_EQ(batch.labels, expected.labels) << i;
      ASSERT_EQ(TakeIn(batch, keeping_->image_shape(), &sent_), Bytes(expected)) << i;
    }
  }

  const TempFolder folder_;
  const std::unique_ptr<Device> device_ = DeviceRegistry::Get().Create("device", "cpu", 1);
  std::unique_ptr<Loader> plain_, keeping_;
  int sent_ = 0;
};

TEST_F(DeviceCacheTest, EachImageIsSentOnceAndCutAnewEachTime) {
  WritePictures(folder_ / "a.tar", 30);
  DataConfig config = Config(folder_ / "a.tar", 8);
  config.set_resize_height(32);
  config.set_resize_width(36);
  config.set_mirror(true);
  for (const auto& [pad, mode] :
       {std::pair(0, DataConfig::ZERO), std::pair(5, DataConfig::ZERO),
        std::pair(5, DataConfig::REFLECT), std::pair(31, DataConfig::REFLECT)}) {
    for (const int crop : {0, 24, 32}) {
      config.set_pad(pad);
      config.set_pad_mode(mode);
      config.set_crop_size(crop);
      config.set_random_crop(crop > 0);
      Start(config);
      ExpectSame(15);
      EXPECT_EQ(keeping_->kept_images(), 30);
      // Those that come again while they are being decoded are decoded once more.
      EXPECT_LE(sent_, 30 + config.prefetch() * 8);
      sent_ = 0;
      ExpectSame(15);
      EXPECT_EQ(sent_, 0);
    }
  }
}

TEST_F(DeviceCacheTest, ASmallCacheServesTheFirstImages) {
  WritePictures(folder_ / "a.tar", 12);
  DataConfig config = CropConfig(folder_ / "a.tar", 4, 260, 224);
  config.set_prefetch(1);
  Start(config);
  EXPECT_EQ(keeping_->device_places(), 5);
  ExpectSame(9);
  EXPECT_EQ(keeping_->kept_images(), 5);
  sent_ = 0;
  ExpectSame(6);  // two epochs
  EXPECT_EQ(sent_, 2 * 7);
}

TEST_F(DeviceCacheTest, DamagedImagesAreNotKept) {
  WriteDamagedShard(folder_ / "a.tar", 40, {3, 4, 17, 31});
  DataConfig config = Config(folder_ / "a.tar", 7);
  for (const auto on_error : {DataConfig::SKIP, DataConfig::REPLACE}) {
    config.set_on_error(on_error);
    Start(config);
    ExpectSame(40);
    EXPECT_EQ(keeping_->kept_images(), on_error == DataConfig::SKIP ? 36 : 40);
  }
}

TEST_F(DeviceCacheTest, AShareThatMovesOnLeavesRoom) {
  WritePictures(folder_ / "a.tar", 80);
  DataConfig config = CropConfig(folder_ / "a.tar", 5, 100, 90);
  config.set_exchange(0.25);
  config.set_prefetch(1);
  Start(config, Ranked(LoaderOptions::kTrain, 2, 4));
  EXPECT_EQ(keeping_->device_places(), 34);  // a share has 20
  ExpectSame(4);
  for (int pass = 1; pass < 12; ++pass) {
    sent_ = 0;
    ExpectSame(4);
    // A quarter is new, and what was dropped and is sent once more.
    EXPECT_LE(sent_, 10) << pass;
    EXPECT_LE(keeping_->kept_images(), 30);
  }
}

TEST_F(DeviceCacheTest, AnotherPositionStartsAnew) {
  WritePictures(folder_ / "a.tar", 20);
  DataConfig config = Config(folder_ / "a.tar", 6);
  config.set_resize_height(16);
  config.set_resize_width(16);
  Start(config);
  ExpectSame(5);
  for (const int64_t position : {0, 66, 6}) {
    plain_->Seek(position);
    keeping_->Seek(position);
    ExpectSame(7);
  }
}

TEST_F(DeviceCacheTest, ImpossibleSettingsAreRefused) {
  WritePictures(folder_ / "a.tar", 6);
  DataConfig config = Config(folder_ / "a.tar", 2);
  config.set_device_cache_mib(1);
  LoaderOptions options;
  options.device = device_.get();
  const auto error = [&] { return ErrorOf([&] { Loader(config, options).Next(); }); };
  config.set_resize_shorter(24);
  config.set_crop_size(20);
  EXPECT_NE(error().find("before it is cropped, but the first one has 24x36"), std::string::npos)
      << error();
  EXPECT_NE(error().find("a.tar:s"), std::string::npos) << error();
  config.clear_resize_shorter();
  config.set_resize_height(600);
  config.set_resize_width(600);
  EXPECT_NE(error().find("not even one fits"), std::string::npos) << error();
  config.set_device_cache_mib(-1);
  EXPECT_NE(error().find("device_cache_mib is -1, must be at least 0"), std::string::npos)
      << error();
  config.set_device_cache_mib(64);
  config.set_random_resized_crop(true);
  EXPECT_NE(error().find("does not go with random_resized_crop"), std::string::npos) << error();
  config.set_random_resized_crop(false);
  config.set_contrast(0.5f);
  EXPECT_NE(error().find("does not go with contrast"), std::string::npos) << error();
  options.mode = LoaderOptions::kEvaluate;
  EXPECT_NE(error().find("only applies to training"), std::string::npos) << error();
}

class DevicePlacesTest : public testing::Test {
 protected:
  // A batch of these samples, as scheduled.
  KeptImages Schedule(const std::vector<int64_t>& samples) {
    KeptImages batch;
    batch.places.resize(samples.size());
    batch.there.resize(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      places_.Schedule(samples[i], static_cast<int64_t>(i), &batch);
    }
    return batch;
  }

  const std::unique_ptr<Device> device_ = DeviceRegistry::Get().Create("device", "cpu", 1);
  DevicePlaces places_{AllocatePlaces(device_.get(), {1, 512, 1024}, 1, 100)};  // two
};

using Places = std::vector<int64_t>;
using There = std::vector<uint8_t>;

TEST_F(DevicePlacesTest, SamplesAreInPlaceFromTheirDeliveryOn) {
  places_.BeginBatch();
  KeptImages first = Schedule({7, 8, 9});
  EXPECT_EQ(first.places, (Places{0, 1, -1}));
  EXPECT_EQ(Schedule({7}).there, (There{0}));
  places_.Deliver({7, 8, 9}, {1, 1, 1}, &first);
  EXPECT_EQ(first.places, (Places{0, 1, -1}));
  EXPECT_EQ(places_.images(), 2);
  const KeptImages second = Schedule({8, 9, 7});
  EXPECT_EQ(second.places, (Places{1, -1, 0}));
  EXPECT_EQ(second.there, (There{1, 0, 1}));
}

TEST_F(DevicePlacesTest, UnusedReservationsAreFreed) {
  places_.BeginBatch();
  KeptImages batch = Schedule({7, 7});
  places_.Deliver({7, 7}, {1, 1}, &batch);
  EXPECT_EQ(batch.places, (Places{0, -1}));
  batch = Schedule({8});
  EXPECT_EQ(batch.places, (Places{1}));
  places_.Deliver({8}, {0}, &batch);  // another image came in its place
  EXPECT_EQ(batch.places, (Places{-1}));
  EXPECT_EQ(places_.images(), 1);
  EXPECT_EQ(Schedule({8}).places, (Places{1}));
}

TEST_F(DevicePlacesTest, DroppedSamplesLeaveRoomForTheNextBatch) {
  places_.BeginBatch();
  KeptImages batch = Schedule({7, 8});
  places_.Deliver({7, 8}, {1, 1}, &batch);
  places_.BeginBatch();
  EXPECT_EQ(Schedule({7}).there, (There{1}));
  places_.Drop(7);
  places_.Drop(9);
  EXPECT_EQ(Schedule({7}).places, (Places{-1})) << "the batch may use the place";
  places_.BeginBatch();
  EXPECT_EQ(Schedule({9}).places, (Places{0}));
  EXPECT_EQ(places_.images(), 1);
}

}  // namespace
}  // namespace gf

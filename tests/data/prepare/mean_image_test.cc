// The mean image that gfdata stats --mean_file writes.
#include <string>
#include <vector>

#include "core/config/caffe_blob.h"
#include "data/loader/loader.h"
#include "data/prepare/pixel_sums.h"
#include "data/prepare/verify.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {7, 5};
constexpr int kImages = 150;  // more than two workers take at a time

// Pixels of image i, in the order H, W, C.
std::vector<uint8_t> Pixels(int i, int channels, ImageSize size = kSize) {
  std::vector<uint8_t> pixels;
  for (int64_t k = 0; k < size.pixels() * channels; ++k) {
    pixels.push_back(static_cast<uint8_t>((k * k + 13 * i + k * i) % 256));
  }
  return pixels;
}

class MeanImageTest : public testing::Test {
 protected:
  static void Add(const std::string& key, const std::string& image, TarWriter* tar) {
    tar->Add(key + ".png", image.data(), image.size());
    tar->Add(key + ".cls", "0", 1);
  }
  static std::string Png(int i, int channels, ImageSize size = kSize) {
    return ToText(EncodePng(Pixels(i, channels, size).data(), size, channels));
  }
  void WriteImages(int channels) const {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < kImages; ++i) Add(StrCat("s", i), Png(i, channels), &tar);
    tar.Close();
  }

  // Writes the mean image; returns its bytes.
  std::string Write(int workers) const {
    PixelSums sums;
    MeasureDataSet(
        folder_ / "*.tar", "AUTO", workers, [](int64_t, int64_t) {}, &sums);
    sums.WriteMean(folder_ / "mean");
    return ReadFile(folder_ / "mean");
  }

  const TempFolder folder_;
};

TEST_F(MeanImageTest, IsTheMeanOfEachPixelInCaffesOrder) {
  for (const int channels : {1, 3}) {
    WriteImages(channels);
    Write(2);
    const CaffeBlob blob = ReadCaffeBlob(folder_ / "mean");
    EXPECT_EQ(blob.shape, (Shape{1, channels, kSize.height, kSize.width}));
    std::vector<double> means(kSize.pixels() * channels);
    for (int i = 0; i < kImages; ++i) {
      const std::vector<uint8_t> pixels = Pixels(i, channels);
      for (size_t k = 0; k < means.size(); ++k) means[k] += pixels[k];
    }
    const int64_t plane = kSize.pixels();
    ASSERT_EQ(static_cast<int64_t>(blob.values.size()), channels * plane);
    for (int c = 0; c < channels; ++c) {
      for (int64_t k = 0; k < plane; ++k) {
        const double mean = means[k * channels + c] / kImages;
        // Channel 0 of the file is blue.
        EXPECT_EQ(blob.values[(channels - 1 - c) * plane + k], static_cast<float>(mean));
      }
    }
  }
}

TEST_F(MeanImageTest, HasTheFormOfCaffesTool) {
  WriteImages(3);
  BlobProto blob;
  ASSERT_TRUE(blob.ParseFromString(Write(2)));
  EXPECT_EQ(blob.num(), 1);
  EXPECT_EQ(blob.channels(), 3);
  EXPECT_EQ(blob.height(), kSize.height);
  EXPECT_EQ(blob.width(), kSize.width);
  EXPECT_FALSE(blob.has_shape());
}

TEST_F(MeanImageTest, DoesNotDependOnTheWorkers) {
  WriteImages(3);
  const std::string one = Write(1);
  EXPECT_EQ(Write(2), one);
  EXPECT_EQ(Write(7), one);
}

TEST_F(MeanImageTest, OneColorImageMakesItColored) {
  WriteImages(1);
  TarWriter tar(folder_ / "b.tar");
  Add("color", Png(3, 3), &tar);
  tar.Close();
  Write(2);
  EXPECT_EQ(ReadCaffeBlob(folder_ / "mean").shape[1], 3);
}

TEST_F(MeanImageTest, DamagedImagesAreLeftOut) {
  TarWriter tar(folder_ / "a.tar");
  Add("cut", Png(1, 3, {9, 9}).substr(0, 60), &tar);
  Add("x", Png(1, 3), &tar);
  Add("junk", "junk", &tar);
  Add("y", Png(1, 3), &tar);
  tar.Close();
  Write(2);
  const CaffeBlob blob = ReadCaffeBlob(folder_ / "mean");
  const std::vector<uint8_t> pixels = Pixels(1, 3);
  EXPECT_EQ(blob.shape, (Shape{1, 3, kSize.height, kSize.width}));
  EXPECT_EQ(blob.values[0], pixels[2]);
  EXPECT_EQ(blob.values.back(), pixels[pixels.size() - 3]);
}

TEST_F(MeanImageTest, ImagesOfTwoSizesAreNamed) {
  TarWriter tar(folder_ / "a.tar");
  Add("x", Png(1, 3), &tar);
  Add("y", Png(2, 3, {8, 5}), &tar);
  tar.Close();
  const std::string error = ErrorOf([&] { Write(2); });
  EXPECT_NE(error.find("a.tar:y:"), std::string::npos) << error;
  EXPECT_NE(error.find("an image of 8x5 (height x width), but "), std::string::npos) << error;
  EXPECT_NE(error.find("a.tar:x:"), std::string::npos) << error;
  EXPECT_NE(error.find(" has 7x5 (height x width): a mean image needs images of one size; gfdata "
                       "convert --resize=7x5 makes such a data set"),
            std::string::npos)
      << error;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mean"));
  // Without a mean image any sizes do.
  EXPECT_EQ(MeasureDataSet(folder_ / "a.tar", "AUTO", 2, [](int64_t, int64_t) {}).images, 2);
}

TEST_F(MeanImageTest, TheLoaderReadsIt) {
  for (const int channels : {1, 3}) {
    WriteImages(channels);
    Write(2);
    DataConfig config;
    config.set_source(folder_ / "a.tar");
    config.set_channels(channels);
    config.set_batch_size(kImages);
    config.set_shuffle(false);
    config.set_mean_file(folder_ / "mean");
    Loader loader(config, {});
    const Batch& batch = loader.Next();
    ASSERT_EQ(batch.images.desc.dtype, DType::kFP32);
    // What is left of each pixel has the mean 0.
    const int64_t count = kSize.pixels() * channels;
    for (int64_t k = 0; k < count; ++k) {
      double sum = 0;
      for (int64_t n = 0; n < kImages; ++n) sum += batch.images.as<float>()[n * count + k];
      EXPECT_NEAR(sum / kImages, 0, 1e-4);
    }
  }
}

}  // namespace
}  // namespace gf

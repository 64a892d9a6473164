// Parts of images and images at a fraction of their size, against the whole image.
#include <gtest/gtest.h>

#include "core/random.h"
#include "data/formats/record_source.h"
#include "tests/data/image/decode_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

// Keeps the rows of what it was told to ask for.
class KeptWindow : public RowSink {
 public:
  explicit KeptWindow(std::function<DecodeRequest(ImageSize)> choose)
      : choose_(std::move(choose)) {}

  DecodeRequest Begin(ImageSize size, bool) override { return request_ = choose_(size); }
  void Row(const uint8_t* row) override {
    pixels_.insert(pixels_.end(), row, row + request_.window.width * request_.pixel_bytes());
  }

  std::vector<uint8_t> pixels_;
  DecodeRequest request_;

 private:
  const std::function<DecodeRequest(ImageSize)> choose_;
};

Decoded Decode(const std::string& file, int channels) {
  return DecodeAs(file, {PixelType::kUINT8, channels});
}

// The window of the whole image.
std::vector<uint8_t> Cut(const Decoded& whole, int channels, const ImageWindow& w) {
  std::vector<uint8_t> pixels;
  for (int y = w.top; y < w.top + w.height; ++y) {
    const auto row = whole.pixels.begin() + (int64_t{y} * whole.size.width + w.left) * channels;
    pixels.insert(pixels.end(), row, row + w.width * channels);
  }
  return pixels;
}

ImageWindow DrawWindow(ImageSize size, Random* random) {
  ImageWindow w;
  w.height = 1 + static_cast<int>(random->Below(size.height));
  w.width = 1 + static_cast<int>(random->Below(size.width));
  w.top = static_cast<int>(random->Below(size.height - w.height + 1));
  w.left = static_cast<int>(random->Below(size.width - w.width + 1));
  return w;
}

void ExpectWindowsEqualTheWhole(const std::string& file, const std::string& name, int windows) {
  Random random(1, 2);
  for (const int bytes : {1, 3, 4}) {
    const int channels = bytes == 1 ? 1 : 3;
    const Decoded whole = Decode(file, channels);
    for (int i = 0; i < windows; ++i) {
      const ImageWindow window = DrawWindow(whole.size, &random);
      KeptWindow kept([&](ImageSize) {
        return DecodeRequest{1, window, {PixelType::kUINT8, channels}, /*padded=*/bytes == 4};
      });
      DecodeRows(reinterpret_cast<const uint8_t*>(file.data()), file.size(), &kept);
      std::vector<uint8_t> got = kept.pixels_;
      if (bytes == 4) {
        for (size_t p = 0; p < got.size() / 4; ++p) {
          for (int c = 0; c < 3; ++c) got[3 * p + c] = got[4 * p + c];
        }
        got.resize(got.size() / 4 * 3);
      }
      ASSERT_EQ(got, Cut(whole, channels, window))
          << name << ", window " << window.top << " " << window.left << " " << window.height << " "
          << window.width << " of " << whole.size.ToString() << ", " << bytes << " bytes";
    }
  }
}

TEST(DecodeWindow, WindowsOfPngsAndJpegsEqualTheWholeImage) {
  for (const int channels : {1, 3}) {
    for (const int quality : {0, 80, 95}) {  // 0: PNG; 80: 4:2:0; 95: 4:4:4
      const ImageSize size = {67, 101};
      const auto pixels = Gradient(size, channels);
      const auto file = quality == 0 ? EncodePng(pixels.data(), size, channels)
                                     : EncodeJpeg(pixels.data(), size, channels, quality);
      ExpectWindowsEqualTheWhole(ToText(file), StrCat("quality ", quality), 60);
    }
  }
}

// All kinds of JPEG: sampling of colors, progressive, arithmetic, CMYK, restart marks.
TEST(DecodeWindow, WindowsOfRealImagesEqualTheWholeImage) {
  GF_REAL_DATA_OR_SKIP(oddities, "jpeg-oddities/jpeg-oddities.tar");
  const auto source = OpenSource("TAR", {oddities, true});
  Record record;
  int good = 0;
  for (int64_t i = 0; i < source->size(); ++i) {
    source->Read(i, &record);
    const std::string file(record.data, record.data + record.size);
    try {
      if (Decode(file, 3).size.pixels() > 2'000'000) continue;
    } catch (const SampleError&) {
      continue;
    }
    ++good;
    ExpectWindowsEqualTheWhole(file, source->Key(i), 6);
  }
  EXPECT_GE(good, 79);
}

TEST(DecodeWindow, AFractionOfTheSizeIsTheAverageOfThePixels) {
  // Smooth, so that a small image is the mean of the large one.
  const ImageSize size = {64, 96};
  std::vector<uint8_t> pixels;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < 3; ++c) pixels.push_back(static_cast<uint8_t>(30 + y + x + 10 * c));
    }
  }
  const auto file = EncodeJpeg(pixels.data(), size, 3, 100);
  for (const int denominator : {2, 4, 8}) {
    const int height = size.height / denominator, width = size.width / denominator;
    KeptWindow kept([&](ImageSize) {
      return DecodeRequest{
          denominator, {1, 2, height - 1, width - 2}, {PixelType::kUINT8, 3}, false};
    });
    DecodeRows(file.data(), file.size(), &kept);
    ASSERT_EQ(kept.pixels_.size(), size_t(height - 1) * (width - 2) * 3);
    for (int y = 1; y < height; ++y) {
      for (int x = 2; x < width; ++x) {
        const double center = (y + 0.5 + x + 0.5) * denominator - 1;
        EXPECT_NEAR(kept.pixels_[((y - 1) * (width - 2) + x - 2) * 3], 30 + center, 3);
      }
    }
  }
}

TEST(DecodeWindow, ATruncatedFileIsAnErrorWhateverTheWindow) {
  const ImageSize size = {64, 96};
  const auto pixels = Gradient(size, 3);
  const auto file = EncodeJpeg(pixels.data(), size, 3, 90);
  for (const double share : {0.5, 0.8, 0.95}) {
    KeptWindow kept([&](ImageSize) {
      return DecodeRequest{1, {0, 0, 4, 8}, {PixelType::kUINT8, 3}, false};
    });
    EXPECT_THROW(DecodeRows(file.data(), static_cast<size_t>(file.size() * share), &kept),
                 SampleError);
  }
}

}  // namespace
}  // namespace gf

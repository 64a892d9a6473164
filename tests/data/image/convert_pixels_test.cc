// Conversions between types and numbers of channels, against their definition.
#include "data/image/convert_pixels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

DecodeRequest Wanted(PixelFormat format, bool padded = false) {
  DecodeRequest request;
  request.format = format;
  request.padded = padded;
  return request;
}

template <typename From, typename To>
std::vector<To> Convert(const std::vector<From>& from, int from_channels, int to_channels) {
  const int64_t pixels = static_cast<int64_t>(from.size()) / from_channels;
  std::vector<To> to(pixels * to_channels);
  ConvertPixels(from.data(), {kTypeOf<From>, from_channels}, pixels,
                Wanted({kTypeOf<To>, to_channels}), to.data());
  return to;
}

std::string ConvertError(PixelFormat from, PixelFormat to) {
  return ErrorOf([&] { ConvertPixels(nullptr, from, 0, Wanted(to), nullptr); });
}

TEST(ConvertPixels, TypesKeepTheirMeaning) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<uint8_t>(i));
  const auto wide = Convert<uint8_t, uint16_t>(bytes, 1, 1);
  const auto floats = Convert<uint8_t, float>(bytes, 1, 1);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(wide[i], 257 * i);
    EXPECT_EQ(floats[i], i);
  }
  EXPECT_EQ((Convert<uint16_t, uint8_t>(wide, 1, 1)), bytes);
  std::vector<uint16_t> words;
  for (int i = 0; i < 65536; ++i) words.push_back(static_cast<uint16_t>(i));
  const auto narrow = Convert<uint16_t, uint8_t>(words, 1, 1);
  const auto word_floats = Convert<uint16_t, float>(words, 1, 1);
  for (int i = 0; i < 65536; ++i) {
    ASSERT_EQ(narrow[i], std::lround(i / 257.0)) << i;
    ASSERT_EQ(word_floats[i], i);
  }
}

TEST(ConvertPixels, EqualNumbersOfChannelsStay) {
  for (int channels = 1; channels <= kMaxChannels; ++channels) {
    const auto words = NoisePixels<uint16_t>({3, 5}, channels, 65535);
    const auto floats = NoisePixels<float>({3, 5}, channels, -1e6);
    EXPECT_EQ((Convert<uint16_t, uint16_t>(words, channels, channels)), words);
    EXPECT_EQ((Convert<float, float>(floats, channels, channels)), floats);
  }
}

// Of one pixel.
template <typename T>
std::vector<T> Pixel(const std::vector<T>& from, int to_channels) {
  return Convert<T, T>(from, static_cast<int>(from.size()), to_channels);
}

TEST(ConvertPixels, ChannelsAreRepeatedDroppedAndAdded) {
  using Bytes = std::vector<uint8_t>;
  using Words = std::vector<uint16_t>;
  using Floats = std::vector<float>;
  EXPECT_EQ(Pixel(Bytes{7}, 3), (Bytes{7, 7, 7}));
  EXPECT_EQ(Pixel(Bytes{7}, 2), (Bytes{7, 255}));
  EXPECT_EQ(Pixel(Words{7}, 2), (Words{7, 65535}));
  EXPECT_EQ(Pixel(Floats{7}, 2), (Floats{7, 1}));
  EXPECT_EQ(Pixel(Bytes{7, 9}, 1), (Bytes{7}));
  EXPECT_EQ(Pixel(Bytes{1, 2, 3}, 4), (Bytes{1, 2, 3, 255}));
  EXPECT_EQ(Pixel(Words{1, 2, 3}, 4), (Words{1, 2, 3, 65535}));
  EXPECT_EQ(Pixel(Floats{1, 2, 3}, 4), (Floats{1, 2, 3, 1}));
  EXPECT_EQ(Pixel(Words{1, 2, 3, 4}, 3), (Words{1, 2, 3}));
  EXPECT_EQ(Pixel(Bytes{255, 255, 255, 0}, 1), (Bytes{255}));
}

TEST(ConvertPixels, GrayIsLuma) {
  const auto bytes = NoisePixels<uint8_t>({20, 30}, 3, 255);
  const auto words = NoisePixels<uint16_t>({20, 30}, 3, 65535);
  const auto floats = NoisePixels<float>({20, 30}, 3, 3);
  const auto gray = Convert<uint8_t, uint8_t>(bytes, 3, 1);
  const auto wide = Convert<uint16_t, uint16_t>(words, 3, 1);
  const auto real = Convert<float, float>(floats, 3, 1);
  const auto luma = [](const auto* rgb) {
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  };
  for (size_t i = 0; i < gray.size(); ++i) {
    EXPECT_NEAR(gray[i], luma(&bytes[3 * i]), 0.51);
    EXPECT_NEAR(wide[i], luma(&words[3 * i]), 1.5);
    EXPECT_NEAR(real[i], luma(&floats[3 * i]), 1e-6);
  }
  EXPECT_EQ(Pixel<uint16_t>({65535, 65535, 65535}, 1)[0], 65535);
  // Type and channels at once.
  EXPECT_EQ((Convert<uint8_t, uint16_t>({10, 10, 10, 3}, 4, 1)), (std::vector<uint16_t>{2570}));
  EXPECT_EQ((Convert<uint8_t, float>({9}, 1, 3)), (std::vector<float>{9, 9, 9}));
}

TEST(ConvertPixels, RowsCanBePadded) {
  const auto check = [](const auto& from, int channels, const std::vector<uint8_t>& rgb) {
    using T = typename std::decay_t<decltype(from)>::value_type;
    const int64_t pixels = static_cast<int64_t>(from.size()) / channels;
    std::vector<uint8_t> to(pixels * 4, 99);
    ConvertPixels(from.data(), {kTypeOf<T>, channels}, pixels,
                  Wanted({PixelType::kUINT8, 3}, /*padded=*/true), to.data());
    for (int64_t i = 0; i < pixels; ++i) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(to[4 * i + c], rgb[3 * i + c]) << i;
    }
  };
  const auto rgb = Gradient({3, 11}, 3), gray = Gradient({3, 11}, 1);
  check(rgb, 3, rgb);
  check(gray, 1, Convert<uint8_t, uint8_t>(gray, 1, 3));
  check(Convert<uint8_t, uint16_t>(rgb, 3, 3), 3, rgb);
  check(Convert<uint8_t, uint16_t>(rgb, 3, 4), 4, rgb);
}

TEST(ConvertPixels, NothingElseConverts) {
  const std::map<std::pair<int, int>, bool> some = {{{1, 2}, true}, {{1, 3}, true}, {{2, 1}, true},
                                                    {{3, 1}, true}, {{3, 4}, true}, {{4, 1}, true},
                                                    {{4, 3}, true}};
  for (int from = 1; from <= kMaxChannels; ++from) {
    for (int to = 1; to <= kMaxChannels; ++to) {
      if (from == to || some.count({from, to}) > 0) continue;
      EXPECT_THROW(ConvertPixels(nullptr, {PixelType::kUINT8, from}, 0,
                                 Wanted({PixelType::kUINT8, to}), nullptr),
                   SampleError)
          << from << " " << to;
    }
  }
  EXPECT_EQ(ConvertError({PixelType::kUINT16, 8}, {PixelType::kUINT8, 3}),
            "8 channels of UINT16, expected 3 of UINT8; set channels: 8");
  EXPECT_EQ(ConvertError({PixelType::kFP32, 1}, {PixelType::kUINT16, 1}),
            "1 channel of FP32, expected 1 of UINT16; set pixel_type: FP32");
  EXPECT_EQ(ConvertError({PixelType::kFP32, 8}, {PixelType::kUINT8, 3}),
            "8 channels of FP32, expected 3 of UINT8; set channels: 8 and pixel_type: FP32");
}

// Keeps the pixels of a window.
class KeptPixels : public RowSink {
 public:
  explicit KeptPixels(const DecodeRequest& request) : request_(request) {}
  DecodeRequest Begin(ImageSize, bool scalable) override {
    EXPECT_FALSE(scalable);
    return request_;
  }
  void Row(const uint8_t* row) override {
    const auto* const floats = reinterpret_cast<const float*>(row);
    pixels.insert(pixels.end(), floats,
                  floats + request_.window.width * int64_t{request_.format.channels});
  }
  std::vector<float> pixels;

 private:
  const DecodeRequest request_;
};

TEST(SendRows, AWindowIsConvertedRowByRow) {
  constexpr ImageSize kSize = {6, 7};
  const auto words = NoisePixels<uint16_t>(kSize, 5, 65535);
  DecodeRequest request = Wanted({PixelType::kFP32, 5});
  request.window = {2, 3, 3, 4};
  KeptPixels kept(request);
  SendRows(words.data(), kSize, {PixelType::kUINT16, 5}, &kept);
  ASSERT_EQ(kept.pixels.size(), 3u * 4 * 5);
  size_t at = 0;
  for (int y = 2; y < 5; ++y) {
    for (int x = 3; x < 7; ++x) {
      for (int c = 0; c < 5; ++c) {
        EXPECT_EQ(kept.pixels[at++], words[(y * kSize.width + x) * 5 + c]);
      }
    }
  }
}

TEST(PixelFormat, SaysItself) {
  EXPECT_EQ((PixelFormat{PixelType::kUINT16, 8}.ToString()), "UINT16 with 8 channels");
  EXPECT_EQ((PixelFormat{PixelType::kFP32, 1}.ToString()), "FP32 with 1 channel");
  EXPECT_EQ((PixelFormat{PixelType::kUINT16, 8}.bytes()), 16);
  EXPECT_EQ((PixelFormat{PixelType::kFP32, 3}.bytes()), 12);
}

TEST(EncodePng, RefusesWhatItDoesNotHold) {
  const std::vector<uint8_t> pixels(64);
  for (const PixelFormat format :
       {PixelFormat{PixelType::kFP32, 1}, PixelFormat{PixelType::kUINT8, 4}}) {
    EXPECT_NE(ErrorOf([&] {
                EncodePng(pixels.data(), {2, 2}, format);
              }).find(format.ToString() + " fits neither a PNG nor a JPEG"),
              std::string::npos);
  }
}

TEST(EncodePng, SixteenBitsSurvive) {
  for (const int channels : {1, 3}) {
    const ImageSize size = {13, 17};
    const PixelFormat format = {PixelType::kUINT16, channels};
    const auto words = NoisePixels<uint16_t>(size, channels, 65535);
    const auto file = EncodePng(words.data(), size, format);
    const ImageInfo info = ProbeImage(file.data(), file.size());
    EXPECT_EQ(info.pixel_format(), format);
    EXPECT_FALSE(info.alpha);
    std::vector<uint16_t> found(words.size());
    DecodeImage(file.data(), file.size(), format,
                [&](ImageSize) { return reinterpret_cast<uint8_t*>(found.data()); });
    EXPECT_EQ(found, words);
  }
}

}  // namespace
}  // namespace gf

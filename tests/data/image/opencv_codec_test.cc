// Formats that OpenCV's imgcodecs reads, on files made by hand.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <iostream>
#include <thread>

#include "data/image/image.h"
#include "data/image/opencv_library.h"
#include "tests/data/image/decode_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

#define GF_IMGCODECS_OR_SKIP()                   \
  try {                                          \
    LoadImgcodecs("test", ImgcodecsNames());     \
  } catch (const UserError& error) {             \
    GTEST_SKIP() << "SKIPPED: " << error.what(); \
  }

void Append(uint32_t value, int bytes, std::string* to) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> 8 * i));
}

const ImageSize kSize = {5, 7};

// A BMP of 24 bits: rows from the bottom up, blue first, padded to 4 bytes.
std::string Bmp(ImageSize size, const std::vector<uint8_t>& rgb) {
  const int stride = (3 * size.width + 3) / 4 * 4;
  std::string file = "BM";
  Append(54 + stride * size.height, 4, &file);
  Append(0, 4, &file);
  Append(54, 4, &file);
  Append(40, 4, &file);
  Append(size.width, 4, &file);
  Append(size.height, 4, &file);
  Append(1, 2, &file);
  Append(24, 2, &file);
  for (const int value : {0, stride * size.height, 2835, 2835, 0, 0}) Append(value, 4, &file);
  for (int y = size.height - 1; y >= 0; --y) {
    std::string row;
    for (int x = 0; x < size.width; ++x) {
      const uint8_t* pixel = &rgb[(y * size.width + x) * 3];
      for (int c = 2; c >= 0; --c) row.push_back(static_cast<char>(pixel[c]));
    }
    row.resize(stride);
    file += row;
  }
  return file;
}

// "P5" (gray) or "P6" (RGB) with samples up to `most`, wide ones with the high byte first.
std::string Pnm(ImageSize size, int channels, int most, const std::vector<int>& samples) {
  std::string file =
      StrCat(channels == 1 ? "P5" : "P6", "\n", size.width, " ", size.height, "\n", most, "\n");
  for (const int sample : samples) {
    if (most > 255) file.push_back(static_cast<char>(sample >> 8));
    file.push_back(static_cast<char>(sample));
  }
  return file;
}

TEST(OpenCv, AMissingLibraryIsNoDamagedSample) {
  const auto load = [] { LoadImgcodecs("WebP", {"libopencv_imgcodecs.so.none"}); };
  const std::string message = ErrorOf(load);
  EXPECT_EQ(message.find("WebP: reading it needs OpenCV's imgcodecs, which is not installed: "
                         "install libopencv-imgcodecs406 (Debian 12)"),
            0u)
      << message;
  // on_error: SKIP leaves out what is a SampleError.
  EXPECT_THROW(
      {
        try {
          load();
        } catch (const SampleError&) {
        }
      },
      UserError);
}

TEST(OpenCv, NothingOfItIsLoadedBeforeItIsNeeded) {
  // Other tests of this process load it: this holds where the test runs alone or first.
  const std::vector<std::string> names = ImgcodecsNames();
  EXPECT_EQ(names.front(), "libopencv_imgcodecs.so.415");
  EXPECT_EQ(names.back(), "libopencv_imgcodecs.so.400");
  DecodeAs(FlatPng({2, 2}, 1), {PixelType::kUINT8, 3});
  for (const std::string& name : names) {
    EXPECT_EQ(dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD), nullptr) << name;
  }
}

TEST(OpenCv, ABmpIsReadAsRgb) {
  GF_IMGCODECS_OR_SKIP();
  const auto rgb = Gradient(kSize, 3);
  const std::string file = Bmp(kSize, rgb);
  const ImageInfo info = Probe(file);
  EXPECT_STREQ(info.format, "BMP");
  EXPECT_EQ(info.size, kSize);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.type, PixelType::kUINT8);
  EXPECT_FALSE(info.alpha);
  EXPECT_EQ(DecodeStored(file).pixels, rgb);
  // As another type.
  const Decoded wide = DecodeAs(file, {PixelType::kUINT16, 3});
  ASSERT_EQ(wide.pixels.size(), 2 * rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i) {
    EXPECT_EQ(wide.pixels[2 * i], rgb[i]);
    EXPECT_EQ(wide.pixels[2 * i + 1], rgb[i]);
  }
}

TEST(OpenCv, PnmsOfEightAndSixteenBitsAreReadExactly) {
  GF_IMGCODECS_OR_SKIP();
  for (const int channels : {1, 3}) {
    for (const int most : {255, 65535}) {
      std::vector<int> samples;
      std::vector<uint8_t> expected;
      for (int i = 0; i < kSize.pixels() * channels; ++i) {
        samples.push_back(i * 7919 % (most + 1));
        expected.push_back(static_cast<uint8_t>(samples.back()));
        if (most > 255) expected.push_back(static_cast<uint8_t>(samples.back() >> 8));
      }
      const std::string file = Pnm(kSize, channels, most, samples);
      const ImageInfo info = Probe(file);
      EXPECT_STREQ(info.format, "PNM");
      EXPECT_EQ(info.channels, channels);
      EXPECT_EQ(info.type, most > 255 ? PixelType::kUINT16 : PixelType::kUINT8);
      EXPECT_EQ(DecodeStored(file).pixels, expected) << channels << " " << most;
    }
  }
}

TEST(OpenCv, AHugeImageIsRefused) {
  GF_IMGCODECS_OR_SKIP();
  std::string file = Bmp(kSize, Gradient(kSize, 3));
  file.replace(18, 4, std::string("\0\0\1\0", 4));  // 65,536 columns
  EXPECT_EQ(ErrorOf([&] { Probe(file); }),
            "BMP: too many pixels, expected sides of 1 to 65535 and at most 100000000 pixels");
}

// The header is checked before OpenEXR, or anything of OpenCV, sees it.
TEST(OpenCv, AHugeOpenExrIsRefused) {
  std::string file;
  for (const uint32_t number : {20000630u, 2u}) Append(number, 4, &file);
  file += std::string("dataWindow\0box2i\0", 17);
  for (const uint32_t number : {16, 0, 0, 69'999, 0}) Append(number, 4, &file);
  file += '\0';
  EXPECT_EQ(ErrorOf([&] { Probe(file); }),
            "OpenEXR: 1x70000 (height x width) pixels, expected sides of 1 to 65535 and at most "
            "100000000 pixels");
}

// A PFM of one channel: rows from the bottom up.
std::string Pfm(ImageSize size, const std::vector<float>& gray) {
  std::string file = StrCat("Pf\n", size.width, " ", size.height, "\n-1.0\n");
  for (int y = size.height - 1; y >= 0; --y) {
    file.append(reinterpret_cast<const char*>(&gray[y * size.width]), size.width * sizeof(float));
  }
  return file;
}

TEST(OpenCv, FormatsThatNeedAPathNeedNoFolder) {
  GF_IMGCODECS_OR_SKIP();
  setenv("OPENCV_TEMP_PATH", "/nonexistent", 1);
  std::vector<float> gray(kSize.pixels());
  for (size_t i = 0; i < gray.size(); ++i) gray[i] = 0.1f * static_cast<float>(i) - 1;
  const Decoded image = DecodeStored(Pfm(kSize, gray));
  ASSERT_EQ(image.pixels.size(), gray.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(image.pixels.data(), gray.data(), image.pixels.size()), 0);
  unsetenv("OPENCV_TEMP_PATH");
}

// OpenCV ends the program that has such a variable, which the library of predictions must not.
TEST(OpenCvDeathTest, AnOddLimitIsAnError) {
  for (const char* value : {"abc", "", "1M", "-5", "99999999999999999999"}) {
    EXPECT_EXIT(
        {
          setenv("OPENCV_IO_MAX_IMAGE_PIXELS", value, 1);
          const std::string error = ErrorOf([] { Probe(Bmp(kSize, Gradient(kSize, 3))); });
          std::cerr << error;
          std::exit(7);
        },
        testing::ExitedWithCode(7), "OPENCV_IO_MAX_IMAGE_PIXELS is \".*\", expected a number")
        << value;
  }
}

TEST(OpenCv, ItsOwnMessagesAreNotPrinted) {
  GF_IMGCODECS_OR_SKIP();
  const std::string file = Bmp(kSize, Gradient(kSize, 3));
  testing::internal::CaptureStderr();
  for (size_t bytes = 18; bytes < file.size(); bytes += 9) {
    EXPECT_NE(ErrorOf([&] { DecodeStored(file.substr(0, bytes)); }), "") << bytes;
  }
  std::cerr << "mine";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mine");
}

TEST(OpenCv, EveryTruncationIsAnErrorOrComplete) {
  GF_IMGCODECS_OR_SKIP();
  const auto rgb = Gradient(kSize, 3);
  const std::string file = Bmp(kSize, rgb);
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    try {
      EXPECT_EQ(DecodeStored(file.substr(0, bytes)).pixels, rgb) << bytes;
      EXPECT_GE(bytes, file.size() - 3);  // the padding of the last row
    } catch (const SampleError&) {
    }
  }
}

TEST(OpenCv, ManyThreadsDecodeAtOnce) {
  GF_IMGCODECS_OR_SKIP();
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto rgb = Gradient(kSize, 3, static_cast<int>(t) * 50 + i);
        good[t] += DecodeStored(Bmp(kSize, rgb)).pixels == rgb;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) EXPECT_EQ(count, 50);
}

}  // namespace
}  // namespace gf

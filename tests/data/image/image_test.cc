#include "data/image/image.h"

#include <gif_lib.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdio>
#include <cstring>

#include "data/image/convert_pixels.h"
#include "tests/data/image/decode_util.h"
#include "tests/data/test_util.h"

// Needs cstdio before it.
#include <jpeglib.h>

namespace gf {
namespace {

Decoded Decode(const std::vector<uint8_t>& file, int channels) {
  return DecodeAs(file.data(), file.size(), {PixelType::kUINT8, channels});
}

int LargestDifference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

std::vector<uint8_t> ToChannels(const std::vector<uint8_t>& pixels, int from, int to) {
  std::vector<uint8_t> result(pixels.size() / from * to);
  DecodeRequest request;
  request.format = {PixelType::kUINT8, to};
  ConvertPixels(pixels.data(), {PixelType::kUINT8, from}, pixels.size() / from, request,
                result.data());
  return result;
}

// A JPEG from the library with any settings.
std::vector<uint8_t> MakeJpeg(const std::vector<uint8_t>& pixels, ImageSize size, int components,
                              J_COLOR_SPACE in, J_COLOR_SPACE stored, bool progressive = false) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &data, &bytes);
  info.image_height = size.height;
  info.image_width = size.width;
  info.input_components = components;
  info.in_color_space = in;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, stored);
  jpeg_set_quality(&info, 100, TRUE);
  for (int i = 0; i < components; ++i) {
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row =
        const_cast<JSAMPROW>(pixels.data() + size_t{info.next_scanline} * size.width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<uint8_t> result(data, data + bytes);
  std::free(data);
  return result;
}

const ImageSize kSize = {37, 53};

TEST(Jpeg, PixelsSurviveInColorAndGray) {
  for (const int channels : {1, 3}) {
    const auto pixels = Gradient(kSize, channels);
    const auto file = EncodeJpeg(pixels.data(), kSize, channels, 100);
    const Decoded same = Decode(file, channels);
    EXPECT_EQ(same.size, kSize);
    EXPECT_LE(LargestDifference(same.pixels, pixels), 6);
    const int other = 4 - channels;
    EXPECT_LE(LargestDifference(Decode(file, other).pixels, ToChannels(pixels, channels, other)),
              6);
    EXPECT_EQ(ProbeImage(file.data(), file.size()).channels, channels);
  }
}

TEST(Jpeg, ProgressiveEqualsSequential) {
  const auto pixels = Gradient(kSize, 3);
  EXPECT_EQ(Decode(MakeJpeg(pixels, kSize, 3, JCS_RGB, JCS_YCbCr, true), 3).pixels,
            Decode(MakeJpeg(pixels, kSize, 3, JCS_RGB, JCS_YCbCr, false), 3).pixels);
}

TEST(Jpeg, InksBecomeColors) {
  // Adobe's inverted inks: with K = 255 (no black), C M Y are R G B.
  const auto rgb = Gradient(kSize, 3);
  std::vector<uint8_t> inks;
  for (size_t i = 0; i < rgb.size(); i += 3) {
    inks.insert(inks.end(), {rgb[i], rgb[i + 1], rgb[i + 2], 255});
  }
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    const auto file = MakeJpeg(inks, kSize, 4, JCS_CMYK, stored);
    EXPECT_LE(LargestDifference(Decode(file, 3).pixels, rgb), 8) << stored;
    EXPECT_LE(LargestDifference(Decode(file, 1).pixels, ToChannels(rgb, 3, 1)), 8) << stored;
  }
}

TEST(Jpeg, EveryTruncationIsAnErrorOrComplete) {
  const auto pixels = Gradient(kSize, 3);
  for (const bool progressive : {false, true}) {
    const auto file = MakeJpeg(pixels, kSize, 3, JCS_RGB, JCS_YCbCr, progressive);
    const Decoded whole = Decode(file, 3);
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      const std::vector<uint8_t> cut(file.begin(), file.begin() + bytes);
      try {
        EXPECT_EQ(Decode(cut, 3).pixels, whole.pixels) << bytes << " of " << file.size();
        EXPECT_GT(bytes, file.size() - 8);
      } catch (const SampleError&) {
      }
    }
  }
}

TEST(Jpeg, ADamagedImageDoesNotSpoilTheNext) {
  const auto pixels = Gradient(kSize, 3);
  const auto file = EncodeJpeg(pixels.data(), kSize, 3, 95);
  const auto whole = Decode(file, 3).pixels;
  EXPECT_THROW(Decode({file.begin(), file.begin() + file.size() / 2}, 3), SampleError);
  EXPECT_EQ(Decode(file, 3).pixels, whole);
}

TEST(Jpeg, TooManyScansAreRefused) {
  const ImageSize size = {8, 8};
  const auto file = MakeJpeg(Gradient(size, 1), size, 1, JCS_GRAYSCALE, JCS_GRAYSCALE, true);
  // Repeats the last scan, which refines by nothing new.
  size_t scan = 0;
  for (size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == 0xff && file[i + 1] == 0xda) scan = i;
  }
  std::vector<uint8_t> bomb(file.begin(), file.end() - 2);
  for (int i = 0; i < 5000; ++i) bomb.insert(bomb.end(), file.begin() + scan, file.end() - 2);
  bomb.insert(bomb.end(), {0xff, 0xd9});
  EXPECT_THROW(Decode(bomb, 1), SampleError);
}

TEST(Jpeg, TooManyPixelsAreRefusedFromTheHeader) {
  auto file = EncodeJpeg(Gradient({8, 8}, 1).data(), {8, 8}, 1, 90);
  for (size_t i = 0; i + 9 < file.size(); ++i) {
    if (file[i] == 0xff && file[i + 1] == 0xc0) {
      std::memset(&file[i + 5], 0xff, 4);
      file[i + 5] = file[i + 7] = 0xf0;
    }
  }
  EXPECT_NE(ErrorOf([&] { Decode(file, 1); }).find("at most 100000000 pixels"), std::string::npos);
}

TEST(Decode, ASideLongerThanThatOfAnyJpegIsRefused) {
  EXPECT_NO_THROW(CheckImageSize("PNG", 1, 65535));
  for (const ImageSize size : {ImageSize{1, 65536}, ImageSize{100000000, 1}}) {
    const std::string message = ErrorOf([&] { CheckImageSize("PNG", size.height, size.width); });
    EXPECT_NE(
        message.find(StrCat("PNG: ", size.ToString(), " pixels, expected sides of 1 to 65535")),
        std::string::npos)
        << message;
  }
}

// A PNG of any kind that the library can write. The first `opacities` colors of a palette have
// their index as opacity.
std::vector<uint8_t> MakePng(ImageSize size, int type, int depth, bool interlaced,
                             const std::vector<uint8_t>& rows, int opacities = 0) {
  std::vector<uint8_t> file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep data, png_size_t bytes) {
        auto* to = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(p));
        to->insert(to->end(), data, data + bytes);
      },
      nullptr);
  png_set_IHDR(png, info, size.width, size.height, depth, type,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (type == PNG_COLOR_TYPE_PALETTE) {
    png_color palette[256];
    for (int i = 0; i < 256; ++i) {
      palette[i] = {static_cast<uint8_t>(i), static_cast<uint8_t>(255 - i), 7};
    }
    png_set_PLTE(png, info, palette, 256);
    std::vector<uint8_t> alpha;
    for (int i = 0; i < opacities; ++i) alpha.push_back(static_cast<uint8_t>(i));
    if (opacities > 0) png_set_tRNS(png, info, alpha.data(), opacities, nullptr);
  }
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  const size_t stride = png_get_rowbytes(png, info);
  for (int y = 0; y < size.height; ++y) {
    pointers.push_back(const_cast<png_bytep>(rows.data()) + y * stride);
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

TEST(Png, PixelsSurviveExactly) {
  for (const int channels : {1, 3}) {
    const auto pixels = Gradient(kSize, channels);
    const auto file = EncodePng(pixels.data(), kSize, channels);
    EXPECT_EQ(Decode(file, channels).pixels, pixels);
    EXPECT_EQ(Decode(file, 4 - channels).pixels, ToChannels(pixels, channels, 4 - channels));
  }
}

TEST(Png, PaletteAlphaSixteenBitsAndInterlacingAreRead) {
  const auto gray = Gradient(kSize, 1), rgb = Gradient(kSize, 3);
  std::vector<uint8_t> palette, rgba, wide;
  for (const uint8_t value : gray) {
    palette.insert(palette.end(), {value, static_cast<uint8_t>(255 - value), 7});
    wide.insert(wide.end(), {value, value});
  }
  for (size_t i = 0; i < rgb.size(); i += 3) {
    rgba.insert(rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], static_cast<uint8_t>(i % 251)});
  }
  for (const bool interlaced : {false, true}) {
    EXPECT_EQ(Decode(MakePng(kSize, PNG_COLOR_TYPE_PALETTE, 8, interlaced, gray), 3).pixels,
              palette);
    EXPECT_EQ(Decode(MakePng(kSize, PNG_COLOR_TYPE_RGBA, 8, interlaced, rgba), 3).pixels, rgb);
    EXPECT_EQ(Decode(MakePng(kSize, PNG_COLOR_TYPE_GRAY, 16, interlaced, wide), 1).pixels, gray);
    EXPECT_EQ(Decode(MakePng(kSize, PNG_COLOR_TYPE_RGB, 8, interlaced, rgb), 3).pixels, rgb);
  }
  const std::vector<uint8_t> bits = {0xa0};
  EXPECT_EQ(Decode(MakePng({1, 4}, PNG_COLOR_TYPE_GRAY, 1, false, bits), 1).pixels,
            (std::vector<uint8_t>{255, 0, 255, 0}));
}

// Samples of 16 bits in the byte order of this machine, as bytes.
std::vector<uint8_t> ToBytes(const std::vector<uint16_t>& samples) {
  std::vector<uint8_t> bytes(samples.size() * 2);
  std::memcpy(bytes.data(), samples.data(), bytes.size());
  return bytes;
}

TEST(Png, SixteenBitsAndTransparencyAreDeliveredOnRequest) {
  for (const int channels : {1, 2, 3, 4}) {
    std::vector<uint16_t> samples;
    std::vector<uint8_t> stored;  // high byte first
    for (int i = 0; i < kSize.height * kSize.width * channels; ++i) {
      samples.push_back(static_cast<uint16_t>(i * 7919));
      stored.push_back(static_cast<uint8_t>(samples.back() >> 8));
      stored.push_back(static_cast<uint8_t>(samples.back()));
    }
    const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                         PNG_COLOR_TYPE_RGBA};
    for (const bool interlaced : {false, true}) {
      const auto file = MakePng(kSize, types[channels - 1], 16, interlaced, stored);
      const ImageInfo info = ProbeImage(file.data(), file.size());
      EXPECT_EQ(info.type, PixelType::kUINT16);
      EXPECT_EQ(info.alpha, channels % 2 == 0);
      EXPECT_EQ(info.channels, channels <= 2 ? 1 : 3);
      const auto decode = [&](PixelType type, int wanted) {
        return DecodeAs(file.data(), file.size(), {type, wanted}).pixels;
      };
      EXPECT_EQ(decode(PixelType::kUINT16, channels), ToBytes(samples)) << channels;
      // Without transparency, and with 8 bits.
      std::vector<uint16_t> opaque;
      std::vector<uint8_t> narrow;
      for (size_t i = 0; i < samples.size(); ++i) {
        const bool is_alpha = info.alpha && i % channels == size_t(channels) - 1;
        if (!is_alpha) opaque.push_back(samples[i]);
        narrow.push_back(static_cast<uint8_t>((samples[i] * 255 + 32767) / 65535));
      }
      EXPECT_EQ(decode(PixelType::kUINT16, info.channels), ToBytes(opaque)) << channels;
      EXPECT_EQ(decode(PixelType::kUINT8, channels), narrow) << channels;
    }
  }
}

TEST(Png, TransparencyOfAPaletteIsDeliveredOnRequest) {
  const auto indices = Gradient(kSize, 1);
  std::vector<uint8_t> expected;
  for (const uint8_t index : indices) {
    const int alpha = index < 100 ? index : 255;
    expected.insert(expected.end(),
                    {index, static_cast<uint8_t>(255 - index), 7, static_cast<uint8_t>(alpha)});
  }
  const auto file = MakePng(kSize, PNG_COLOR_TYPE_PALETTE, 8, false, indices, /*opacities=*/100);
  EXPECT_TRUE(ProbeImage(file.data(), file.size()).alpha);
  EXPECT_EQ(Decode(file, 4).pixels, expected);
}

TEST(Png, EveryTruncationIsAnError) {
  const auto file = EncodePng(Gradient(kSize, 3).data(), kSize, 3);
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_THROW(Decode({file.begin(), file.begin() + bytes}, 3), SampleError) << bytes;
  }
}

// A GIF with a frame of 3 x 9 pixels at (2, 1) of a picture of 7 x 11 (width x height).
std::vector<uint8_t> MakeGif(bool interlaced, const std::vector<uint8_t>& indices) {
  std::vector<uint8_t> file;
  int error = 0;
  GifFileType* gif = EGifOpen(
      &file,
      [](GifFileType* g, const GifByteType* data, int bytes) {
        auto* to = static_cast<std::vector<uint8_t>*>(g->UserData);
        to->insert(to->end(), data, data + bytes);
        return bytes;
      },
      &error);
  GifColorType colors[4] = {{1, 2, 3}, {40, 50, 60}, {70, 80, 90}, {200, 100, 0}};
  ColorMapObject* map = GifMakeMapObject(4, colors);
  EGifPutScreenDesc(gif, 7, 11, 2, 0, map);
  EGifPutComment(gif, "a comment");
  EGifPutImageDesc(gif, 2, 1, 3, 9, interlaced, nullptr);
  const std::vector<int> order = interlaced ? std::vector<int>{0, 8, 4, 2, 6, 1, 3, 5, 7}
                                            : std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (const int row : order) {
    std::vector<uint8_t> line(indices.begin() + 3 * row, indices.begin() + 3 * row + 3);
    EGifPutLine(gif, line.data(), 3);
  }
  EGifCloseFile(gif, nullptr);
  GifFreeMapObject(map);
  return file;
}

TEST(Gif, TheFirstFrameIsReadPlainAndInterlaced) {
  std::vector<uint8_t> indices;
  for (int i = 0; i < 27; ++i) indices.push_back(static_cast<uint8_t>(i * i % 4));
  const std::vector<std::vector<uint8_t>> colors = {
      {1, 2, 3}, {40, 50, 60}, {70, 80, 90}, {200, 100, 0}};
  for (const bool interlaced : {false, true}) {
    const auto file = MakeGif(interlaced, indices);
    const Decoded decoded = Decode(file, 3);
    EXPECT_EQ(decoded.size, (ImageSize{11, 7}));
    for (int y = 0; y < 11; ++y) {
      for (int x = 0; x < 7; ++x) {
        const bool inside = y >= 1 && y < 10 && x >= 2 && x < 5;
        const auto expected =
            inside ? colors[indices[(y - 1) * 3 + x - 2]] : std::vector<uint8_t>{0, 0, 0};
        const auto* pixel = &decoded.pixels[(y * 7 + x) * 3];
        EXPECT_EQ(std::vector<uint8_t>(pixel, pixel + 3), expected) << y << " " << x;
      }
    }
    for (size_t bytes = 0; bytes + 4 < file.size(); ++bytes) {
      EXPECT_THROW(Decode({file.begin(), file.begin() + bytes}, 3), SampleError) << bytes;
    }
  }
}

TEST(Decode, NamesOtherFileFormats) {
  const auto message = [](const std::string& bytes) {
    return ErrorOf([&] { Decode({bytes.begin(), bytes.end()}, 3); });
  };
  EXPECT_NE(message("GIF89a----").find("GIF"), std::string::npos);
  EXPECT_NE(message("BM....").find("not an image in a known format (JPEG, PNG, GIF, TIFF, WebP,"),
            std::string::npos);
  EXPECT_NE(message("RIFF....WEBPVP8 ").find("WebP: "), std::string::npos);
  EXPECT_NE(message("<html>").find("this is an HTML page, expected an image (JPEG, "),
            std::string::npos);
  EXPECT_NE(message("").find("0 bytes"), std::string::npos);
  EXPECT_NE(message("hello").find("not an image in a known format"), std::string::npos);
}

TEST(Decode, FlippedBytesNeverCrash) {
  const auto pixels = Gradient(kSize, 3);
  for (const auto& file :
       {EncodePng(pixels.data(), kSize, 3), EncodeJpeg(pixels.data(), kSize, 3, 80),
        MakeGif(false, std::vector<uint8_t>(27, 3))}) {
    for (size_t i = 0; i < file.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        auto broken = file;
        broken[i] ^= flip;
        try {
          // A size field may be hit: only up to 4 megapixels are decoded here.
          if (ProbeImage(broken.data(), broken.size()).size.pixels() <= 4'000'000)
            Decode(broken, 3);
        } catch (const SampleError&) {
        }
      }
    }
  }
}

}  // namespace
}  // namespace gf

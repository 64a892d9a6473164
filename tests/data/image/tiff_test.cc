// TIFFs that libtiff writes: every sample comes back as it was stored.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/random.h"
#include "tests/data/image/decode_util.h"
#include "tests/data/image/tiff_writer.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

// Random pixels; as FP32, finite numbers.
std::vector<uint8_t> RandomPixels(ImageSize size, const PixelFormat& format, uint64_t seed) {
  Random random(seed, 1);
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < size.pixels() * format.channels; ++i) {
    uint8_t sample[4];
    if (format.type == PixelType::kFP32) {
      const float value = static_cast<float>(random.Below(1 << 20)) / 1024 - 300;
      std::memcpy(sample, &value, 4);
    } else {
      const auto value = static_cast<uint32_t>(random.Next());
      std::memcpy(sample, &value, 4);
    }
    pixels.insert(pixels.end(), sample, sample + SizeOf(format.type));
  }
  return pixels;
}

TiffForm FormOf(PixelType type, int channels) {
  TiffForm form;
  form.format = {type, channels};
  form.sample_format = type == PixelType::kFP32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT;
  form.photometric = channels == 3 || channels == 4 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  const int colors = form.photometric == PHOTOMETRIC_RGB ? 3 : 1;
  form.extra.assign(channels - colors, EXTRASAMPLE_UNSPECIFIED);
  return form;
}

std::string NameOf(const TiffForm& form) {
  return StrCat(form.format.ToString(), ", planar ", form.planar, ", compression ",
                form.compression, ", tile ", form.tile, ", mode ", form.mode);
}

TEST(Tiff, EverySampleIsDeliveredAsItIsStored) {
  int files = 0;
  for (const PixelType type : {PixelType::kUINT8, PixelType::kUINT16, PixelType::kFP32}) {
    for (const int channels : {1, 2, 3, 4, 5, 8, 16}) {
      for (const uint16_t planar : {PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
        for (const uint16_t compression :
             {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
          for (const int tile : {0, 16}) {
            for (const char* mode : {"wl", "wb", "w8"}) {
              TiffForm form = FormOf(type, channels);
              form.planar = planar;
              form.compression = compression;
              form.tile = tile;
              form.mode = mode;
              const auto pixels = RandomPixels(form.size, form.format, ++files);
              const std::string file = WriteTiff(form, pixels);
              const ImageInfo info = Probe(file);
              EXPECT_STREQ(info.format, "TIFF");
              EXPECT_EQ(info.size, form.size);
              EXPECT_EQ(info.type, type);
              EXPECT_EQ(info.channels, channels);
              EXPECT_FALSE(info.alpha);
              ASSERT_EQ(DecodeAs(file, form.format).pixels, pixels) << NameOf(form);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(files, 3 * 7 * 2 * 4 * 2 * 3);
}

TEST(Tiff, OneStripForTheWholeImageIsRead) {
  TiffForm form = FormOf(PixelType::kUINT16, 3);
  for (const int rows : {form.size.height, form.size.height + 100}) {
    form.rows_per_strip = rows;
    const auto pixels = RandomPixels(form.size, form.format, rows);
    EXPECT_EQ(DecodeAs(WriteTiff(form, pixels), form.format).pixels, pixels);
  }
}

TEST(Tiff, OneExtraSampleIsTransparencyIfTheFileSaysSo) {
  for (const uint16_t kind :
       {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNASSALPHA}) {
    for (const int channels : {2, 4}) {
      TiffForm form = FormOf(PixelType::kUINT8, channels);
      form.extra = {kind};
      const auto pixels = RandomPixels(form.size, form.format, kind);
      const std::string file = WriteTiff(form, pixels);
      const bool alpha = kind != EXTRASAMPLE_UNSPECIFIED;
      EXPECT_EQ(Probe(file).alpha, alpha);
      EXPECT_EQ(Probe(file).channels, alpha ? channels - 1 : channels);
      EXPECT_EQ(DecodeAs(file, form.format).pixels, pixels);
      if (!alpha) {
        const int colors = channels - 1;
        EXPECT_EQ(ErrorOf([&] {
                    DecodeAs(file, {PixelType::kUINT8, colors});
                  }),
                  StrCat("TIFF: ", channels, " channels, none of them transparency, expected ",
                         colors, ": set channels: ", channels));
        continue;
      }
      // RGB without it: of a gray image, the gray three times.
      std::vector<uint8_t> rgb;
      for (int64_t i = 0; i < form.size.pixels(); ++i) {
        for (int c = 0; c < 3; ++c) {
          rgb.push_back(pixels[i * channels + (channels == 4 ? c : 0)]);
        }
      }
      EXPECT_EQ(DecodeAs(file, {PixelType::kUINT8, 3}).pixels, rgb) << channels;
    }
  }
}

TEST(Tiff, IntegersOfWhiteZeroAreInverted) {
  for (const PixelType type : {PixelType::kUINT8, PixelType::kUINT16, PixelType::kFP32}) {
    TiffForm form = FormOf(type, 1);
    form.photometric = PHOTOMETRIC_MINISWHITE;
    auto pixels = RandomPixels(form.size, form.format, 3);
    const std::string file = WriteTiff(form, pixels);
    if (type != PixelType::kFP32) {
      for (uint8_t& byte : pixels) byte ^= 0xff;
    }
    EXPECT_EQ(DecodeAs(file, form.format).pixels, pixels);
  }
}

TEST(Tiff, InksOfEightBitsBecomeColorsAndOthersStay) {
  TiffForm form = FormOf(PixelType::kUINT8, 4);
  form.photometric = PHOTOMETRIC_SEPARATED;
  form.extra.clear();
  // No ink, all of the three colors, black alone.
  form.size = {1, 3};
  const std::string file = WriteTiff(form, {0, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 255});
  EXPECT_EQ(Probe(file).channels, 3);
  EXPECT_STREQ(Probe(file).oddity, "CMYK");
  EXPECT_EQ(DecodeAs(file, {PixelType::kUINT8, 3}).pixels,
            (std::vector<uint8_t>{255, 255, 255, 0, 0, 0, 0, 0, 0}));
  form.format.type = PixelType::kUINT16;
  const auto pixels = RandomPixels(form.size, form.format, 4);
  const std::string wide = WriteTiff(form, pixels);
  EXPECT_EQ(DecodeStored(wide).pixels, pixels);
  // Without black, the other inks are not RGB.
  EXPECT_EQ(ErrorOf([&] {
              DecodeAs(wide, {PixelType::kUINT8, 3});
            }),
            "TIFF: 4 channels of ink, expected 3; set channels: 4, or convert the image to RGB");
}

TEST(Tiff, APaletteBecomesColorsAndOrientationIsNotApplied) {
  TiffForm form = FormOf(PixelType::kUINT8, 1);
  const auto indices = RandomPixels(form.size, form.format, 7);
  for (const uint16_t orientation :
       {ORIENTATION_TOPLEFT, ORIENTATION_TOPRIGHT, ORIENTATION_BOTRIGHT, ORIENTATION_BOTLEFT,
        ORIENTATION_LEFTTOP, ORIENTATION_LEFTBOT}) {
    form.orientation = orientation;
    form.photometric = PHOTOMETRIC_MINISBLACK;
    form.palette.clear();
    EXPECT_EQ(DecodeStored(WriteTiff(form, indices)).pixels, indices) << orientation;
    form.photometric = PHOTOMETRIC_PALETTE;
    form.palette.resize(3 * 256);
    for (int i = 0; i < 256; ++i) {
      form.palette[i] = static_cast<uint16_t>(i * 257);
      form.palette[256 + i] = static_cast<uint16_t>((255 - i) * 257);
      form.palette[512 + i] = 7 * 257;
    }
    std::vector<uint8_t> rgb;
    for (const uint8_t index : indices) {
      rgb.insert(rgb.end(), {index, static_cast<uint8_t>(255 - index), 7});
    }
    const std::string file = WriteTiff(form, indices);
    EXPECT_EQ(Probe(file).channels, 3);
    EXPECT_EQ(DecodeStored(file).pixels, rgb) << orientation;
  }
}

TEST(Tiff, NumbersThatAreNotFiniteAreDamage) {
  const TiffForm form = FormOf(PixelType::kFP32, 2);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    auto pixels = RandomPixels(form.size, form.format, 8);
    std::memcpy(&pixels[pixels.size() - sizeof(bad)], &bad, sizeof(bad));
    const std::string file = WriteTiff(form, pixels);
    const std::string error = ErrorOf([&] { DecodeAs(file, form.format); });
    EXPECT_EQ(error.find("TIFF: a pixel is "), 0u) << error;
    EXPECT_NE(error.find("expected finite numbers"), std::string::npos) << error;
  }
}

TEST(Tiff, OtherSamplesAreRefusedByName) {
  TiffForm form = FormOf(PixelType::kFP32, 1);
  const auto pixels = RandomPixels(form.size, form.format, 5);
  const auto message = [&](uint16_t sample_format) {
    form.sample_format = sample_format;
    return ErrorOf([&] { Probe(WriteTiff(form, pixels)); });
  };
  EXPECT_NE(message(SAMPLEFORMAT_UINT).find("TIFF: unsigned integers of 32 bits, expected"),
            std::string::npos);
  EXPECT_NE(message(SAMPLEFORMAT_INT).find("TIFF: signed integers of 32 bits, expected"),
            std::string::npos);
  EXPECT_NE(message(SAMPLEFORMAT_COMPLEXINT).find("TIFF: complex numbers of 32 bits, expected"),
            std::string::npos);
  form = FormOf(PixelType::kUINT8, 17);
  EXPECT_NE(ErrorOf([&] {
              Probe(WriteTiff(form, RandomPixels(form.size, form.format, 6)));
            }).find("TIFF: 17 channels, expected 1 to 16"),
            std::string::npos);
}

}  // namespace
}  // namespace gf

// Damaged and hostile TIFFs: an error that says what is wrong, never a crash or made-up pixels.
#include <gtest/gtest.h>

#include <map>

#include "core/random.h"
#include "tests/data/image/decode_util.h"
#include "tests/data/image/tiff_writer.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

struct Field {
  uint16_t tag;
  uint16_t type;  // TIFF_SHORT, TIFF_LONG
  uint32_t count;
  uint32_t value;  // or its offset
};

void Append(uint64_t value, int bytes, std::string* to) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> 8 * i));
}

// A file whose only directory comes first, so that a cut takes its data away. `next`: the offset of
// the next directory.
std::string MakeFile(const std::vector<Field>& fields, const std::string& data, uint32_t next = 0) {
  std::string file("II*\0", 4);
  Append(8, 4, &file);
  Append(fields.size(), 2, &file);
  for (const Field& field : fields) {
    Append(field.tag, 2, &file);
    Append(field.type, 2, &file);
    Append(field.count, 4, &file);
    Append(field.value, 4, &file);
  }
  Append(next, 4, &file);
  return file + data;
}

// An image of 4 x 6 gray pixels (height x width) in one strip, with changed values of fields.
std::string Gray(const std::map<uint16_t, uint32_t>& changes = {}, uint32_t next = 0) {
  std::vector<Field> fields = {
      {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 6},       {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 4},
      {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},   {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, 1},
      {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1},     {TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 0},
      {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1}, {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 4},
      {TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 24},
  };
  for (Field& field : fields) {
    if (field.tag == TIFFTAG_STRIPOFFSETS) {
      field.value = static_cast<uint32_t>(8 + 2 + 12 * fields.size() + 4);
    }
    const auto change = changes.find(field.tag);
    if (change != changes.end()) field.value = change->second;
  }
  std::string data;
  for (int i = 0; i < 24; ++i) data.push_back(static_cast<char>(10 * i));
  return MakeFile(fields, data, next);
}

const PixelFormat kGray = {PixelType::kUINT8, 1};

std::string MessageOf(const std::string& file) {
  return ErrorOf([&] { DecodeAs(file, kGray); });
}

// Whether the file is refused, or has these pixels after all.
bool IsErrorOrSame(const std::string& file, PixelFormat format,
                   const std::vector<uint8_t>& pixels) {
  try {
    return DecodeAs(file, format).pixels == pixels;
  } catch (const SampleError&) {
    return true;
  }
}

TEST(TiffDamage, ThePlainFileIsGood) {
  const Decoded decoded = DecodeAs(Gray(), kGray);
  EXPECT_EQ(decoded.size, (ImageSize{4, 6}));
  ASSERT_EQ(decoded.pixels.size(), 24u);
  for (int i = 0; i < 24; ++i) EXPECT_EQ(decoded.pixels[i], 10 * i);
}

TEST(TiffDamage, GrayOfFourBitsIsWidened) {
  const Decoded decoded = DecodeAs(Gray({{TIFFTAG_BITSPERSAMPLE, 4}}), kGray);
  ASSERT_EQ(decoded.pixels.size(), 24u);
  for (int i = 0; i < 24; ++i) {
    // Two pixels per byte, the left one in the high bits.
    const int byte = 10 * (i / 2);
    EXPECT_EQ(decoded.pixels[i], (i % 2 == 0 ? byte >> 4 : byte & 15) * 17) << i;
  }
}

TEST(TiffDamage, EveryTruncationIsAnError) {
  const std::string plain = Gray();
  for (size_t bytes = 0; bytes < plain.size(); ++bytes) {
    EXPECT_THROW(DecodeAs(plain.substr(0, bytes), kGray), SampleError) << bytes;
  }
  EXPECT_NE(MessageOf(plain.substr(0, plain.size() - 1)).find("truncated or damaged"),
            std::string::npos);
  TiffForm form;
  form.size = {9, 7};
  form.format = {PixelType::kUINT8, 3};
  for (const uint16_t compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
    form.compression = compression;
    const auto pixels = Gradient(form.size, 3);
    const std::string file = WriteTiff(form, pixels);
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      EXPECT_TRUE(IsErrorOrSame(file.substr(0, bytes), form.format, pixels))
          << compression << ": " << bytes;
    }
  }
}

// libtiff computes the length of a single strip without compression.
TEST(TiffDamage, AWrongLengthOfAStripMakesNoPixelsUp) {
  for (const uint32_t bytes : {0u, 23u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_TRUE(IsErrorOrSame(Gray({{TIFFTAG_STRIPBYTECOUNTS, bytes}}), kGray,
                              DecodeAs(Gray(), kGray).pixels))
        << bytes;
  }
}

TEST(TiffDamage, HugeClaimsAreRefusedBeforeMemoryIsTaken) {
  EXPECT_NE(MessageOf(Gray({{TIFFTAG_IMAGEWIDTH, 0xfffffff0}})).find("TIFF: "), std::string::npos);
  EXPECT_NE(MessageOf(Gray({{TIFFTAG_IMAGELENGTH, 65535}, {TIFFTAG_IMAGEWIDTH, 65535}}))
                .find("at most 100000000 pixels"),
            std::string::npos);
  EXPECT_NE(MessageOf(Gray({{TIFFTAG_SAMPLESPERPIXEL, 65535}})).find("TIFF: "), std::string::npos);
  EXPECT_NE(MessageOf(Gray({{TIFFTAG_BITSPERSAMPLE, 64}})).find("unsigned integers of 64 bits"),
            std::string::npos);
  // More than the file holds.
  EXPECT_NE(MessageOf(Gray({{TIFFTAG_STRIPOFFSETS, 0xffffff00}})).find("truncated or damaged"),
            std::string::npos);
  // Pixels that the file does not have.
  EXPECT_NE(
      MessageOf(Gray({{TIFFTAG_IMAGELENGTH, 9000}, {TIFFTAG_ROWSPERSTRIP, 9000}})).find("TIFF: "),
      std::string::npos);
}

TEST(TiffDamage, ATileLargerThanAnyNeedIsRefused) {
  TiffForm form;
  form.size = {16, 16};
  form.format = {PixelType::kUINT8, 3};
  form.tile = 16;
  std::string file = WriteTiff(form, Gradient(form.size, 3));
  // The directory's entry of the tile's width, a LONG or SHORT of 16.
  const std::string tag("\x42\x01", 2);
  const size_t place = file.rfind(tag);
  ASSERT_NE(place, std::string::npos);
  for (const uint32_t side : {0x10u, 0x1000u, 0x7ffffff0u}) {
    std::string entry = tag;
    Append(TIFF_LONG, 2, &entry);
    Append(1, 4, &entry);
    Append(side, 4, &entry);
    file.replace(place, 12, entry);
    if (side == 0x10) {
      EXPECT_EQ(DecodeAs(file, form.format).pixels, Gradient(form.size, 3));
    } else {
      EXPECT_THROW(DecodeAs(file, form.format), SampleError) << side;
    }
  }
}

TEST(TiffDamage, ADirectoryThatFollowsItselfIsNotFollowed) {
  EXPECT_EQ(DecodeAs(Gray({}, /*next=*/8), kGray).pixels, DecodeAs(Gray(), kGray).pixels);
}

TEST(TiffDamage, MutationsNeverCrash) {
  TiffForm form;
  form.size = {9, 20};
  form.format = {PixelType::kUINT8, 3};
  std::vector<std::string> files = {Gray()};
  for (const int tile : {0, 16}) {
    for (const uint16_t compression :
         {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
      form.tile = tile;
      form.compression = compression;
      files.push_back(WriteTiff(form, Gradient(form.size, 3)));
    }
  }
  for (int run = 0; run < 2000; ++run) {
    Random random(7, run);
    std::string file = files[random.Below(files.size())];
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
      file[random.Below(file.size())] = static_cast<char>(random.Next());
    }
    try {
      const ImageInfo info = Probe(file);
      if (info.size.pixels() <= 1'000'000) DecodeStored(file);
    } catch (const SampleError&) {
    }
  }
}

}  // namespace
}  // namespace gf

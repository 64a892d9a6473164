#include <cstring>

#include "data/codec.h"

namespace gf {
namespace {

struct Magic {
  size_t offset;
  std::string bytes;
  const char* name;
};

// What people's data sets hold besides JPEG and PNG; only to say what it is.
const char* NameOfOther(const uint8_t* data, size_t size) {
  static const std::vector<Magic> kOthers = {
      {0, "GIF8", "a GIF"},
      {0, "BM", "a BMP"},
      {8, "WEBP", "a WebP"},
      {0, std::string("II*\0", 4), "a TIFF"},
      {0, std::string("MM\0*", 4), "a TIFF"},
      {4, "ftyp", "an AVIF, HEIC or MP4"},
      {0, "\x1f\x8b", "gzip data"},
      {0, "PK\x03\x04", "a zip archive"},
      {0, "<!DOCTYPE", "an HTML page"},
      {0, "<html", "an HTML page"},
  };
  for (const Magic& magic : kOthers) {
    if (size >= magic.offset + magic.bytes.size() &&
        std::memcmp(data + magic.offset, magic.bytes.data(), magic.bytes.size()) == 0) {
      return magic.name;
    }
  }
  return nullptr;
}

const Codec& FindCodec(const uint8_t* data, size_t size) {
  for (const Codec* codec : {&JpegCodec(), &PngCodec()}) {
    if (size >= codec->magic.size() &&
        std::memcmp(data, codec->magic.data(), codec->magic.size()) == 0) {
      return *codec;
    }
  }
  if (size == 0) throw SampleError("the image is empty (0 bytes)");
  if (const char* name = NameOfOther(data, size)) {
    throw SampleError(StrCat("this is ", name, "; JPEG and PNG are read"));
  }
  throw SampleError("neither a JPEG nor a PNG");
}

}  // namespace

ImageInfo ProbeImage(const uint8_t* data, size_t size) {
  return FindCodec(data, size).probe(data, size);
}

ImageSize DecodeImage(const uint8_t* data, size_t size, int channels, const PlaceImage& place) {
  return FindCodec(data, size).decode(data, size, channels, place);
}

void CheckImageSize(const char* format, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMaxPixels || width > kMaxPixels ||
      height * width > kMaxPixels) {
    throw SampleError(StrCat(format, ": ", height, "x", width,
                             " (height x width) pixels, expected 1 to ", kMaxPixels));
  }
}

void ConvertChannels(const uint8_t* from, int from_channels, int64_t pixels, int to_channels,
                     uint8_t* to) {
  if (from_channels == to_channels) {
    std::memcpy(to, from, pixels * to_channels);
  } else if (to_channels == 3) {
    for (int64_t i = 0; i < pixels; ++i) to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
  } else {
    for (int64_t i = 0; i < pixels; ++i) {
      // 0.299, 0.587, 0.114 in units of 1/65536, rounded.
      const uint32_t sum =
          19595u * from[3 * i] + 38470u * from[3 * i + 1] + 7471u * from[3 * i + 2];
      to[i] = static_cast<uint8_t>((sum + 32768u) >> 16);
    }
  }
}

}  // namespace gf

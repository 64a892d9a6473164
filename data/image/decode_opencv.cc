// Formats that OpenCV's imgcodecs reads. Probing decodes the image. OpenEXR allocates as much
// memory as a header claims, so headers are checked before.

#include <iterator>
#include <utility>

#include "data/image/codec.h"
#include "data/image/opencv_library.h"
#include "data/image/openexr_header.h"

namespace gf {
namespace {

bool IsWebp(const uint8_t* data, size_t size) {
  return HasBytes(data, size, 0, "RIFF") && HasBytes(data, size, 8, "WEBP");
}

// Two letters are no proof: the size of the header that follows the file's own must be one that
// exists.
bool IsBmp(const uint8_t* data, size_t size) {
  if (size < 18 || !HasBytes(data, size, 0, "BM")) return false;
  if (data[15] != 0 || data[16] != 0 || data[17] != 0) return false;
  for (const int header : {12, 40, 52, 56, 64, 108, 124}) {
    if (data[14] == header) return true;
  }
  return false;
}

bool IsJpeg2000(const uint8_t* data, size_t size) {
  // A JP2 file; a codestream alone.
  return HasBytes(data, size, 4, "jP  \r\n\x87\n") || HasBytes(data, size, 0, "\xff\x4f\xff\x51");
}

bool IsOpenExr(const uint8_t* data, size_t size) {
  return HasBytes(data, size, 0, "\x76\x2f\x31\x01");
}

bool IsRadiance(const uint8_t* data, size_t size) {
  return HasBytes(data, size, 0, "#?RADIANCE") || HasBytes(data, size, 0, "#?RGBE");
}

// Whether the file begins with P, one of `kinds` and a blank.
bool IsNetpbm(const uint8_t* data, size_t size, std::string_view kinds) {
  return size >= 3 && data[0] == 'P' &&
         kinds.find(static_cast<char>(data[1])) != std::string_view::npos &&
         (data[2] == ' ' || (data[2] >= '\t' && data[2] <= '\r'));
}

bool IsPnm(const uint8_t* data, size_t size) { return IsNetpbm(data, size, "123456"); }
bool IsPam(const uint8_t* data, size_t size) { return IsNetpbm(data, size, "7"); }
bool IsPfm(const uint8_t* data, size_t size) { return IsNetpbm(data, size, "Ff"); }

bool IsSunRaster(const uint8_t* data, size_t size) {
  return HasBytes(data, size, 0, "\x59\xa6\x6a\x95");
}

struct Format {
  const char* name;
  bool (*recognizes)(const uint8_t* data, size_t size);
  bool needs_path = false;
  // Throws SampleError for a header that must not reach imgcodecs.
  void (*check)(const uint8_t* data, size_t size) = nullptr;
};

constexpr Format kFormats[] = {
    {"WebP", IsWebp},
    {"BMP", IsBmp},
    {"JPEG 2000", IsJpeg2000},
    {"OpenEXR", IsOpenExr, true, CheckOpenExrHeader},
    {"Radiance HDR", IsRadiance, true},
    {"PNM", IsPnm},
    {"PAM", IsPam},
    {"PFM", IsPfm, true},
    {"Sun raster", IsSunRaster, true},
};

bool HasAlpha(const PixelFormat& format) { return format.channels == 2 || format.channels == 4; }

// BGR to RGB, BGRA to RGBA.
template <typename T>
void SwapRedAndBlue(uint8_t* pixels, int64_t count, int channels) {
  auto* pixel = reinterpret_cast<T*>(pixels);
  for (int64_t i = 0; i < count; ++i, pixel += channels) std::swap(pixel[0], pixel[2]);
}

void ToRgb(uint8_t* pixels, int64_t count, const PixelFormat& format) {
  if (format.channels != 3 && format.channels != 4) return;
  switch (format.type) {
    case PixelType::kUINT8:
      SwapRedAndBlue<uint8_t>(pixels, count, format.channels);
      break;
    case PixelType::kUINT16:
      SwapRedAndBlue<uint16_t>(pixels, count, format.channels);
      break;
    case PixelType::kFP32:
      SwapRedAndBlue<float>(pixels, count, format.channels);
      break;
  }
}

void DecodeChecked(const Format& format, const uint8_t* data, size_t size,
                   const UseOpenCvImage& use) {
  if (format.check) format.check(data, size);
  DecodeWithOpenCv(format.name, format.needs_path, data, size, use);
}

template <size_t kFormat>
ImageInfo Probe(const uint8_t* data, size_t size) {
  ImageInfo info;
  info.format = kFormats[kFormat].name;
  DecodeChecked(kFormats[kFormat], data, size,
                [&](uint8_t*, ImageSize image, const PixelFormat& format) {
                  info.size = image;
                  info.type = format.type;
                  info.alpha = HasAlpha(format);
                  info.channels = format.channels - info.alpha;
                });
  return info;
}

template <size_t kFormat>
void Decode(const uint8_t* data, size_t size, RowSink* sink) {
  DecodeChecked(kFormats[kFormat], data, size,
                [&](uint8_t* pixels, ImageSize image, const PixelFormat& format) {
                  ToRgb(pixels, image.pixels(), format);
                  SendImage(kFormats[kFormat].name, pixels, image, format, HasAlpha(format), sink);
                });
}

template <size_t... kFormat>
std::vector<Codec> MakeCodecs(std::index_sequence<kFormat...>) {
  return {Codec{kFormats[kFormat].name, kFormats[kFormat].recognizes, Probe<kFormat>,
                Decode<kFormat>}...};
}

}  // namespace

const std::vector<Codec>& OpenCvCodecs() {
  static const auto* codecs =
      new std::vector<Codec>(MakeCodecs(std::make_index_sequence<std::size(kFormats)>()));
  return *codecs;
}

}  // namespace gf

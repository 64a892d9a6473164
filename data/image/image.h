#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace gf {

// Pixels are in the order height, width, channels, without gaps between rows, aligned to the size
// of their type. 1 channel is luma (0.299 R + 0.587 G + 0.114 B), 3 channels are RGB, 2 and 4
// channels these with transparency where files have it; other numbers are as the files have them.

// Maximum number of pixels of an image, and of pixels of a side, as JPEG has it.
constexpr int64_t kMaxPixels = 100'000'000;
constexpr int64_t kMaxSide = 65'535;
// Maximum number of bytes of an image file.
constexpr int64_t kMaxEncodedBytes = int64_t{1} << 28;

// The type of a number of a pixel, in the order of DataConfig.PixelType.
enum class PixelType : uint8_t { kUINT8, kUINT16, kFP32 };

// Bytes of one number.
constexpr size_t SizeOf(PixelType type) {
  return type == PixelType::kUINT8 ? 1 : type == PixelType::kUINT16 ? 2 : 4;
}

// "UINT8", "UINT16", "FP32"
const char* Name(PixelType type);

// Maximum number of channels of a pixel.
constexpr int kMaxChannels = 16;

struct PixelFormat {
  PixelType type = PixelType::kUINT8;
  int channels = 3;  // 1 to kMaxChannels

  // Of one pixel.
  int64_t bytes() const { return static_cast<int64_t>(SizeOf(type)) * channels; }
  bool operator==(const PixelFormat& o) const { return type == o.type && channels == o.channels; }
  bool operator!=(const PixelFormat& o) const { return !(*this == o); }
  // "UINT16 with 8 channels"
  std::string ToString() const;
};

struct ImageSize {
  int height = 0, width = 0;

  int64_t pixels() const { return int64_t{height} * width; }
  bool operator==(const ImageSize& o) const { return height == o.height && width == o.width; }
  bool operator!=(const ImageSize& o) const { return !(*this == o); }
  // "480x640 (height x width)"
  std::string ToString() const { return StrCat(height, "x", width, " (height x width)"); }
};

// A sample that cannot be read or decoded. DataConfig.on_error selects the reaction.
class SampleError : public UserError {
 public:
  using UserError::UserError;
};

// Throws SampleError unless an image of this size is accepted.
void CheckImageSize(const char* format, int64_t height, int64_t width);

struct ImageInfo {
  const char* format = "";  // "JPEG", "TIFF", "WebP"
  ImageSize size;
  // The format that loses no information but transparency.
  int channels = 0;  // 1 to kMaxChannels
  PixelType type = PixelType::kUINT8;
  // An unusual property of the file, for reports: "CMYK", "progressive", ...; empty if there is
  // none.
  const char* oddity = "";
  // Whether the file has one more channel, of transparency.
  bool alpha = false;

  PixelFormat pixel_format() const { return {type, channels}; }
};

// Reads the header of an image file. Throws SampleError as DecodeImage does.
ImageInfo ProbeImage(const uint8_t* data, size_t size);

// A part of an image: `height` rows from `top` on and `width` columns from `left` on.
struct ImageWindow {
  int top = 0, left = 0, height = 0, width = 0;
};

// A request for a part of an image.
struct DecodeRequest {
  // Decode the image at 1 / denominator of its size, rounded up: 1, 2, 4 or 8.
  int denominator = 1;
  // The requested part, in pixels of that size.
  ImageWindow window;
  // The form of its pixels.
  PixelFormat format;
  // RGB of 8 bits and an unused byte per pixel; `format` is then UINT8 with 3 channels.
  bool padded = false;

  int64_t pixel_bytes() const { return padded ? 4 : format.bytes(); }
};

// Receives an image row by row while it is decoded.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Returns the request for an image of this size. `scalable`: whether denominators other than 1
  // are allowed. May throw.
  virtual DecodeRequest Begin(ImageSize size, bool scalable) = 0;
  // Receives the next row of the window, from top to bottom: request.window.width pixels, aligned
  // to the size of their type. Valid during the call.
  virtual void Row(const uint8_t* row) = 0;
};

// Decodes an image file; converts its pixels as ConvertPixels (data/image/convert_pixels.h) does.
// The first bytes determine the format, not the name. Throws SampleError "JPEG: what" for truncated
// or undecodable data, unknown formats and images with more than kMaxPixels. A JPEG with invalid
// codes is decoded as far as possible. A window has the same pixels as the whole image has there.
void DecodeRows(const uint8_t* data, size_t size, RowSink* sink);

// The same for pixels in memory.
void SendRows(const void* pixels, ImageSize size, PixelFormat format, RowSink* sink);

// Returns the address, aligned to the size of the pixels' type, to which the pixels of an image of
// this size are written. May throw.
using PlaceImage = std::function<uint8_t*(ImageSize)>;

// Decodes a whole image to pixels of this format; otherwise as DecodeRows.
ImageSize DecodeImage(const uint8_t* data, size_t size, PixelFormat format,
                      const PlaceImage& place);

// Encodes an image of 1 or 3 channels of 8 bits. `quality` is 1 to 100; from 90 on, chroma is not
// subsampled (4:4:4).
std::vector<uint8_t> EncodeJpeg(const uint8_t* pixels, ImageSize size, int channels, int quality);
std::vector<uint8_t> EncodePng(const uint8_t* pixels, ImageSize size, int channels);

// Whether a PNG can hold such pixels: UINT8 or UINT16 with 1 or 3 channels. A JPEG can hold the
// UINT8 ones.
bool FitsPng(PixelFormat format);
// Encodes an image as a PNG of 8 or 16 bits. Throws UserError unless FitsPng(format).
std::vector<uint8_t> EncodePng(const void* pixels, ImageSize size, PixelFormat format);

}  // namespace gf

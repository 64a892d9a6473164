#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace gf {

// Pixels are 8 bit, in the order height, width, channels, rows without gaps. 1 channel is
// luma (0.299 R + 0.587 G + 0.114 B), 3 are RGB.

// What an image may have, whatever its file says.
constexpr int64_t kMaxPixels = 100'000'000;
// What an image file may have.
constexpr int64_t kMaxEncodedBytes = int64_t{1} << 28;

struct ImageSize {
  int height = 0, width = 0;

  int64_t pixels() const { return int64_t{height} * width; }
  bool operator==(const ImageSize& o) const { return height == o.height && width == o.width; }
  bool operator!=(const ImageSize& o) const { return !(*this == o); }
  // "480x640 (height x width)"
  std::string ToString() const { return StrCat(height, "x", width, " (height x width)"); }
};

// One sample that cannot be read or decoded: what DataConfig.on_error decides about.
class SampleError : public UserError {
 public:
  using UserError::UserError;
};

// Throws SampleError if an image of this size is not accepted.
void CheckImageSize(const char* format, int64_t height, int64_t width);

struct ImageInfo {
  const char* format = "";  // "JPEG", "PNG", "GIF"
  ImageSize size;
  int channels = 0;  // 1 or 3, what a conversion without loss would give
  // What is unusual about the file, for reports: "CMYK", "progressive", ...; empty if nothing is.
  const char* oddity = "";
};

// Reads an image file's header. Throws SampleError, as DecodeImage does.
ImageInfo ProbeImage(const uint8_t* data, size_t size);

// A part of an image: its rows from `top` on and its columns from `left` on.
struct ImageWindow {
  int top = 0, left = 0, height = 0, width = 0;
};

// What is wanted of an image.
struct DecodeRequest {
  // The image is decoded at 1 / denominator of its size, rounded up: 1, 2, 4 or 8.
  int denominator = 1;
  // The part of the image at that size.
  ImageWindow window;
  // 1: luma; 3: RGB; 4: RGB and a byte without meaning.
  int pixel_bytes = 3;
};

// Takes an image while it is decoded.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Says what is wanted of an image of this size. `scalable`: denominators other than 1 are
  // possible. May throw.
  virtual DecodeRequest Begin(ImageSize size, bool scalable) = 0;
  // The next row of the window, from top to bottom; valid during the call.
  virtual void Row(const uint8_t* row) = 0;
};

// Decodes an image file (told by its first bytes, whatever its name). Transparency is dropped.
// Throws SampleError "JPEG: what" for data that are truncated or cannot be decoded, unknown
// formats and images of more than kMaxPixels. A JPEG with wrong codes inside is decoded as far
// as they allow. A window has the pixels that the whole image has there.
void DecodeRows(const uint8_t* data, size_t size, RowSink* sink);

// The same for pixels that lie in memory, with 1 or 3 channels.
void SendRows(const uint8_t* pixels, ImageSize size, int channels, RowSink* sink);

// Given an image's size, returns where to write its pixels. May throw.
using PlaceImage = std::function<uint8_t*(ImageSize)>;

// Decodes a whole image to 1 or 3 channels; otherwise as DecodeRows.
ImageSize DecodeImage(const uint8_t* data, size_t size, int channels, const PlaceImage& place);

// Encodes an image of 1 or 3 channels. quality: 1..100; 4:4:4 chroma from 90 on.
std::vector<uint8_t> EncodeJpeg(const uint8_t* pixels, ImageSize size, int channels, int quality);
std::vector<uint8_t> EncodePng(const uint8_t* pixels, ImageSize size, int channels);

// Converts pixels of 1 or 3 bytes to pixels of 1, 3 or 4; `from` and `to` must not overlap.
void ConvertChannels(const uint8_t* from, int from_bytes, int64_t pixels, int to_bytes,
                     uint8_t* to);

}  // namespace gf

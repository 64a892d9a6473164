#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace gf {

// Pixels have 8 bits per channel, in the order height, width, channels, without gaps between rows.
// 1 channel is luma (0.299 R + 0.587 G + 0.114 B), 3 channels are RGB.

// Maximum number of pixels of an image, and of pixels of a side, as JPEG has it.
constexpr int64_t kMaxPixels = 100'000'000;
constexpr int64_t kMaxSide = 65'535;
// Maximum number of bytes of an image file.
constexpr int64_t kMaxEncodedBytes = int64_t{1} << 28;

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
  const char* format = "";  // "JPEG", "PNG", "GIF"
  ImageSize size;
  int channels = 0;  // 1 or 3: the number that loses no information
  // An unusual property of the file, for reports: "CMYK", "progressive", ...; empty if there is
  // none.
  const char* oddity = "";
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
  // 1: luma; 3: RGB; 4: RGB and an unused byte.
  int pixel_bytes = 3;
};

// Receives an image row by row while it is decoded.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Returns the request for an image of this size. `scalable`: whether denominators other than 1
  // are allowed. May throw.
  virtual DecodeRequest Begin(ImageSize size, bool scalable) = 0;
  // Receives the next row of the window, from top to bottom; valid during the call.
  virtual void Row(const uint8_t* row) = 0;
};

// Decodes an image file and drops transparency. The first bytes determine the format, not the name.
// Throws SampleError "JPEG: what" for truncated or undecodable data, unknown formats and images
// with more than kMaxPixels. A JPEG with invalid codes is decoded as far as possible. A window has
// the same pixels as the whole image has there.
void DecodeRows(const uint8_t* data, size_t size, RowSink* sink);

// The same for pixels in memory, with 1 or 3 channels.
void SendRows(const uint8_t* pixels, ImageSize size, int channels, RowSink* sink);

// Returns the address to which the pixels of an image of this size are written. May throw.
using PlaceImage = std::function<uint8_t*(ImageSize)>;

// Decodes a whole image to 1 or 3 channels; otherwise as DecodeRows.
ImageSize DecodeImage(const uint8_t* data, size_t size, int channels, const PlaceImage& place);

// Encodes an image of 1 or 3 channels. `quality` is 1 to 100; from 90 on, chroma is not subsampled
// (4:4:4).
std::vector<uint8_t> EncodeJpeg(const uint8_t* pixels, ImageSize size, int channels, int quality);
std::vector<uint8_t> EncodePng(const uint8_t* pixels, ImageSize size, int channels);

// Converts pixels of 1 or 3 bytes to pixels of 1, 3 or 4 bytes. `from` and `to` must not overlap.
void ConvertChannels(const uint8_t* from, int from_bytes, int64_t pixels, int to_bytes,
                     uint8_t* to);

}  // namespace gf

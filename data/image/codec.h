#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/image/image.h"

namespace gf {

// A readable image format. `probe` and `decode` behave as ProbeImage and DecodeRows.
struct Codec {
  // As ImageInfo.format.
  const char* name;
  // Whether a file with these bytes is in this format, by its first bytes.
  bool (*recognizes)(const uint8_t* data, size_t size);
  ImageInfo (*probe)(const uint8_t* data, size_t size);
  void (*decode)(const uint8_t* data, size_t size, RowSink* sink);
};

const Codec& JpegCodec();
const Codec& PngCodec();
const Codec& GifCodec();
const Codec& TiffCodec();
// The formats that OpenCV's imgcodecs reads.
const std::vector<Codec>& OpenCvCodecs();

// Whether the file has these bytes at this offset.
bool HasBytes(const uint8_t* data, size_t size, size_t offset, std::string_view bytes);

// Passes rows on to a sink whose Begin has returned `request` already.
class BegunSink : public RowSink {
 public:
  BegunSink(const DecodeRequest& request, RowSink* sink) : request_(request), sink_(sink) {}

  DecodeRequest Begin(ImageSize, bool) override { return request_; }
  void Row(const uint8_t* row) override { sink_->Row(row); }

 private:
  const DecodeRequest request_;
  RowSink* const sink_;
};

// SendRows for a decoded file of the format `name`. `alpha`: the last channel is transparency,
// which is dropped where SendRows has no conversion. Changes `pixels`. Throws SampleError for
// numbers that are not finite, and for a channel that would get lost though it is no transparency.
void SendImage(const char* name, uint8_t* pixels, ImageSize size, PixelFormat format, bool alpha,
               RowSink* sink);

}  // namespace gf

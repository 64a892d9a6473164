#pragma once

#include "data/image/image.h"

namespace gf {

// A readable image format. The two functions behave as ProbeImage and DecodeRows.
struct Codec {
  const char* name;
  // The first bytes of every file in this format.
  std::string magic;
  ImageInfo (*probe)(const uint8_t* data, size_t size);
  void (*decode)(const uint8_t* data, size_t size, RowSink* sink);
};

const Codec& JpegCodec();
const Codec& PngCodec();
const Codec& GifCodec();

}  // namespace gf

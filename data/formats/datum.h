#pragma once

#include <cstddef>
#include <cstdint>

#include "data/image/image.h"

namespace gf {

// What Caffe's databases hold: message Datum of caffe.proto.
struct Datum {
  int64_t channels = 0, height = 0, width = 0, label = 0;
  bool encoded = false;
  // An encoded image, or planes of pixels in the order channels, height, width. Part of what was
  // parsed.
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// Parses a Datum; nothing of it is copied. Throws SampleError for bytes that are none, and for
// float data.
Datum ParseDatum(const uint8_t* bytes, size_t size);

// Checks the sizes of a Datum that is not encoded and writes its pixels to `to`, height x width x
// channels. Caffe's tools store blue first: the result is RGB. Throws SampleError.
ImageSize CheckRawDatum(const Datum& datum);
void ReadRawDatum(const Datum& datum, uint8_t* to);

}  // namespace gf

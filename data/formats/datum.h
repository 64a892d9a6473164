#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file.h"
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
  size_t offset = 0;  // of the data in the message
};

// Parses a Datum; nothing of it is copied. Throws SampleError for bytes that are none, and for
// float data.
Datum ParseDatum(const uint8_t* bytes, size_t size);

// The same for a message in a file, of which everything but the data is read: `data` stays null.
Datum ReadDatumFields(const InputFile& file, int64_t offset, size_t size);

// The bytes of a Datum: label and encoded, and sizes where it is not encoded.
std::string SerializeDatum(const Datum& datum);

// Checks the sizes of a Datum that is not encoded and writes its pixels to `to`, height x width x
// channels. Caffe's tools store blue first: the result is RGB. Throws SampleError.
ImageSize CheckRawDatum(const Datum& datum);
void ReadRawDatum(const Datum& datum, uint8_t* to);
// The reverse: pixels of 1 or 3 channels as the planes of a Datum.
std::string RawDatumPlanes(const uint8_t* pixels, ImageSize size, int channels);

}  // namespace gf

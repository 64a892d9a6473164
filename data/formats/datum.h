#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "data/image/image.h"

namespace gf {

// A run of 32-bit floats in a message: number i begins at offset + i * stride. Protobuf writes
// repeated floats one by one with a tag each (a stride of 5), or packed (4).
struct FloatRun {
  size_t offset = 0;
  int64_t count = 0;
  size_t stride = 0;
};

// What Caffe's databases hold: message Datum of caffe.proto.
struct Datum {
  int64_t channels = 0, height = 0, width = 0, label = 0;
  bool encoded = false;
  // Of raw pixels: UINT8 in field `data`, or FP32 in field `float_data`, which counts if `data` is
  // empty, as in Caffe.
  PixelType type = PixelType::kUINT8;
  // An encoded image, or planes of pixels in the order channels, height, width. Part of what was
  // parsed, where it is field `data`. SerializeDatum takes the planes of FP32 from here, too.
  const uint8_t* data = nullptr;
  size_t size = 0;
  size_t offset = 0;  // of the data in the message
  // The floats of field `float_data`, and the message that holds them.
  std::vector<FloatRun> floats;
  const uint8_t* message = nullptr;
};

// Parses a Datum; no pixels are copied. Throws SampleError for bytes that are none.
Datum ParseDatum(const uint8_t* bytes, size_t size);

// The same for a message in a file, of which everything but the data is read: `data` and `message`
// stay null.
Datum ReadDatumFields(const InputFile& file, int64_t offset, size_t size);

// The bytes of a Datum: label and encoded, and sizes where it is not encoded.
std::string SerializeDatum(const Datum& datum);

// The plane of a Datum that holds channel `c` of a pixel, and the reverse: Caffe's tools store blue
// first, so the first three of 3 and 4 channels are swapped.
int DatumPlane(int c, int64_t channels);

// Checks the sizes of a Datum that is not encoded and writes its pixels to `to`, height x width x
// channels, in RawFormat(datum) and aligned to the size of its type. Colors become RGB. Throws
// SampleError.
ImageSize CheckRawDatum(const Datum& datum);
PixelFormat RawFormat(const Datum& datum);
void ReadRawDatum(const Datum& datum, uint8_t* to);
// The reverse: pixels as the planes of a Datum, of UINT8 or, for other types, of FP32.
std::string RawDatumPlanes(const uint8_t* pixels, ImageSize size, PixelFormat format);

}  // namespace gf

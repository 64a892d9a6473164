#include "data/formats/datum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>

namespace gf {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

[[noreturn]] void Damaged(const char* what) { throw SampleError(StrCat("Datum: ", what)); }

int64_t ReadNumber(CodedInputStream* in) {
  uint64_t value = 0;
  if (!in->ReadVarint64(&value)) Damaged("a number is cut");
  return static_cast<int64_t>(value);
}

}  // namespace

Datum ParseDatum(const uint8_t* bytes, size_t size) {
  if (size > size_t{INT_MAX}) Damaged("it has more than 2 GiB");
  CodedInputStream in(bytes, static_cast<int>(size));
  Datum datum;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    if (field == 6) Damaged("it holds floats, not an image");
    const bool number = field == 1 || field == 2 || field == 3 || field == 5 || field == 7;
    const auto expected =
        number ? WireFormatLite::WIRETYPE_VARINT : WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if ((number || field == 4) && type != expected) Damaged("a field has a wrong type");
    if (number) {
      const int64_t value = ReadNumber(&in);
      if (field == 1) datum.channels = value;
      if (field == 2) datum.height = value;
      if (field == 3) datum.width = value;
      if (field == 5) datum.label = value;
      if (field == 7) datum.encoded = value != 0;
    } else if (field == 4) {
      uint32_t length = 0;
      if (!in.ReadVarint32(&length)) Damaged("a length is cut");
      datum.data = bytes + in.CurrentPosition();
      datum.size = length;
      if (length > size - in.CurrentPosition()) Damaged("its data are cut");
      in.Skip(static_cast<int>(length));
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      Damaged("it is no message");
    }
  }
  if (!in.ConsumedEntireMessage()) Damaged("it is no message");
  return datum;
}

ImageSize CheckRawDatum(const Datum& datum) {
  CheckImageSize("Datum", datum.height, datum.width);
  if (datum.channels != 1 && datum.channels != 3) {
    throw SampleError(StrCat("Datum: ", datum.channels, " channels, expected 1 or 3"));
  }
  const int64_t expected = datum.channels * datum.height * datum.width;
  if (static_cast<int64_t>(datum.size) != expected) {
    throw SampleError(StrCat("Datum: ", datum.size, " bytes of pixels, expected ", expected));
  }
  return {static_cast<int>(datum.height), static_cast<int>(datum.width)};
}

void ReadRawDatum(const Datum& datum, uint8_t* to) {
  const int64_t channels = datum.channels, pixels = datum.height * datum.width;
  for (int64_t c = 0; c < channels; ++c) {
    const uint8_t* plane = datum.data + (channels - 1 - c) * pixels;
    for (int64_t i = 0; i < pixels; ++i) to[i * channels + c] = plane[i];
  }
}

}  // namespace gf

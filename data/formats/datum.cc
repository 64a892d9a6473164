#include "data/formats/datum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <climits>

namespace gf {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Caffe's numbers of the fields.
constexpr int kChannels = 1, kHeight = 2, kWidth = 3, kData = 4, kLabel = 5, kFloats = 6,
              kEncoded = 7;

[[noreturn]] void Damaged(const char* what) { throw SampleError(StrCat("Datum: ", what)); }

int64_t ReadNumber(CodedInputStream* in) {
  uint64_t value = 0;
  if (!in->ReadVarint64(&value)) Damaged("a number is cut");
  return static_cast<int64_t>(value);
}

// A part of a file, read in small pieces, because what is of interest lies before and after a long
// field.
class FilePart : public google::protobuf::io::ZeroCopyInputStream {
 public:
  FilePart(const InputFile& file, int64_t offset, int64_t bytes)
      : file_(file), begin_(offset), end_(offset + bytes), at_(offset) {}

  bool Next(const void** data, int* size) override {
    const size_t got = file_.ReadAt(at_, window_, std::min<int64_t>(sizeof(window_), end_ - at_));
    at_ += static_cast<int64_t>(got);
    *data = window_;
    *size = static_cast<int>(got);
    return got > 0;
  }
  void BackUp(int count) override { at_ -= count; }
  bool Skip(int count) override {
    const bool inside = count <= end_ - at_;
    at_ = inside ? at_ + count : end_;
    return inside;
  }
  int64_t ByteCount() const override { return at_ - begin_; }

 private:
  const InputFile& file_;
  const int64_t begin_, end_;
  int64_t at_;
  uint8_t window_[128];
};

// Parses all but the data. `size`: of the message.
Datum ParseFields(CodedInputStream* stream, size_t size) {
  CodedInputStream& in = *stream;
  Datum datum;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    if (field == kFloats) Damaged("it holds floats, not an image");
    const bool number = field == kChannels || field == kHeight || field == kWidth ||
                        field == kLabel || field == kEncoded;
    const auto expected =
        number ? WireFormatLite::WIRETYPE_VARINT : WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if ((number || field == kData) && type != expected) Damaged("a field has a wrong type");
    if (number) {
      const int64_t value = ReadNumber(&in);
      if (field == kChannels) datum.channels = value;
      if (field == kHeight) datum.height = value;
      if (field == kWidth) datum.width = value;
      if (field == kLabel) datum.label = value;
      if (field == kEncoded) datum.encoded = value != 0;
    } else if (field == kData) {
      uint32_t length = 0;
      if (!in.ReadVarint32(&length)) Damaged("a length is cut");
      datum.offset = in.CurrentPosition();
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

void CheckMessageSize(size_t size) {
  if (size > size_t{INT_MAX}) Damaged("it has more than 2 GiB");
}

}  // namespace

Datum ParseDatum(const uint8_t* bytes, size_t size) {
  CheckMessageSize(size);
  CodedInputStream in(bytes, static_cast<int>(size));
  Datum datum = ParseFields(&in, size);
  datum.data = bytes + datum.offset;
  return datum;
}

Datum ReadDatumFields(const InputFile& file, int64_t offset, size_t size) {
  CheckMessageSize(size);
  FilePart part(file, offset, static_cast<int64_t>(size));
  CodedInputStream in(&part);
  return ParseFields(&in, size);
}

std::string SerializeDatum(const Datum& datum) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    CodedOutputStream out(&stream);
    const auto number = [&](int field, int64_t value) {
      out.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_VARINT));
      out.WriteVarint64(static_cast<uint64_t>(value));
    };
    if (!datum.encoded) {
      number(kChannels, datum.channels);
      number(kHeight, datum.height);
      number(kWidth, datum.width);
    }
    out.WriteTag(WireFormatLite::MakeTag(kData, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out.WriteVarint32(static_cast<uint32_t>(datum.size));
    out.WriteRaw(datum.data, static_cast<int>(datum.size));
    number(kLabel, datum.label);
    if (datum.encoded) number(kEncoded, 1);
  }
  return bytes;
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

std::string RawDatumPlanes(const uint8_t* pixels, ImageSize size, int channels) {
  const int64_t count = size.pixels();
  std::string planes(count * channels, '\0');
  for (int c = 0; c < channels; ++c) {
    char* plane = &planes[(channels - 1 - c) * count];
    for (int64_t i = 0; i < count; ++i) plane[i] = static_cast<char>(pixels[i * channels + c]);
  }
  return planes;
}

}  // namespace gf

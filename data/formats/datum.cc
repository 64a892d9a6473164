#include "data/formats/datum.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

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
// field. Pieces that follow each other grow, for the tags of many floats.
class FilePart : public google::protobuf::io::ZeroCopyInputStream {
 public:
  FilePart(const InputFile& file, int64_t offset, int64_t bytes)
      : file_(file), begin_(offset), end_(offset + bytes), at_(offset) {}

  bool Next(const void** data, int* size) override {
    const size_t got = file_.ReadAt(at_, window_, std::min<int64_t>(piece_, end_ - at_));
    piece_ = std::min<int64_t>(2 * piece_, sizeof(window_));
    at_ += static_cast<int64_t>(got);
    *data = window_;
    *size = static_cast<int>(got);
    return got > 0;
  }
  void BackUp(int count) override { at_ -= count; }
  bool Skip(int count) override {
    piece_ = kFirstPiece;
    const bool inside = count <= end_ - at_;
    at_ = inside ? at_ + count : end_;
    return inside;
  }
  int64_t ByteCount() const override { return at_ - begin_; }

 private:
  const InputFile& file_;
  const int64_t begin_, end_;
  static constexpr int64_t kFirstPiece = 128;
  int64_t at_, piece_ = kFirstPiece;
  uint8_t window_[8192];
};

// Writers make one run, and merged messages a few.
constexpr size_t kMostFloatRuns = 1024;

// Appends `count` floats that begin at `offset`; a float that follows the last run continues it.
void AddFloats(size_t offset, int64_t count, size_t stride, std::vector<FloatRun>* runs) {
  if (!runs->empty()) {
    FloatRun& last = runs->back();
    if (last.stride == stride && last.offset + last.count * stride == offset) {
      last.count += count;
      return;
    }
  }
  if (count == 0) return;
  if (runs->size() == kMostFloatRuns) Damaged("its floats lie in more than 1024 pieces");
  runs->push_back({offset, count, stride});
}

// Parses field `float_data` after its tag. `size`: of the message.
void ParseFloats(CodedInputStream* in, WireFormatLite::WireType type, size_t size, Datum* datum) {
  constexpr size_t kBytes = sizeof(float);
  const auto position = [&] { return static_cast<size_t>(in->CurrentPosition()); };
  if (type == WireFormatLite::WIRETYPE_FIXED32) {
    if (kBytes > size - position()) Damaged("its floats are cut");
    AddFloats(position(), 1, kBytes + 1, &datum->floats);
    in->Skip(kBytes);
    return;
  }
  if (type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) Damaged("a field has a wrong type");
  uint32_t length = 0;
  if (!in->ReadVarint32(&length)) Damaged("a length is cut");
  if (length > size - position() || length % kBytes != 0) Damaged("its floats are cut");
  AddFloats(position(), length / kBytes, kBytes, &datum->floats);
  in->Skip(static_cast<int>(length));
}

// Writes planes of pixels to `to`, height x width x channels. next(): the next number of the
// planes.
template <typename T, typename NextNumber>
void ToPixels(const Datum& datum, const NextNumber& next, T* to) {
  const int64_t channels = datum.channels, pixels = datum.height * datum.width;
  for (int plane = 0; plane < channels; ++plane) {
    T* const out = to + DatumPlane(plane, channels);
    for (int64_t i = 0; i < pixels; ++i) out[i * channels] = next();
  }
}

// Writes pixels as planes. T: of the planes.
template <typename T, typename Number>
void ToPlanes(const uint8_t* pixels, ImageSize size, int channels, char* planes) {
  const auto* const from = reinterpret_cast<const Number*>(pixels);
  const int64_t count = size.pixels();
  for (int plane = 0; plane < channels; ++plane) {
    const Number* const first = from + DatumPlane(plane, channels);
    for (int64_t i = 0; i < count; ++i, planes += sizeof(T)) {
      const T value = first[i * channels];
      std::memcpy(planes, &value, sizeof(value));
    }
  }
}

// Parses all but the data. `size`: of the message.
Datum ParseFields(CodedInputStream* stream, size_t size) {
  CodedInputStream& in = *stream;
  Datum datum;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    const bool number = field == kChannels || field == kHeight || field == kWidth ||
                        field == kLabel || field == kEncoded;
    const auto expected =
        number ? WireFormatLite::WIRETYPE_VARINT : WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if ((number || field == kData) && type != expected) Damaged("a field has a wrong type");
    if (field == kFloats) {
      ParseFloats(&in, type, size, &datum);
    } else if (number) {
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
  if (datum.size == 0 && !datum.floats.empty()) datum.type = PixelType::kFP32;
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
  datum.message = bytes;
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
    const int field = datum.type == PixelType::kUINT8 ? kData : kFloats;  // packed
    out.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out.WriteVarint32(static_cast<uint32_t>(datum.size));
    out.WriteRaw(datum.data, static_cast<int>(datum.size));
    number(kLabel, datum.label);
    if (datum.encoded) number(kEncoded, 1);
  }
  return bytes;
}

int DatumPlane(int c, int64_t channels) {
  const bool colors = channels == 3 || channels == 4;
  return colors && c < 3 ? 2 - c : c;
}

ImageSize CheckRawDatum(const Datum& datum) {
  CheckImageSize("Datum", datum.height, datum.width);
  if (datum.channels < 1 || datum.channels > kMaxChannels) {
    throw SampleError(StrCat("Datum: ", datum.channels, " channels, expected 1 to ", kMaxChannels));
  }
  const int64_t expected = datum.channels * datum.height * datum.width;
  const bool floats = datum.type == PixelType::kFP32;
  int64_t found = static_cast<int64_t>(datum.size);
  if (floats) {
    found = 0;
    for (const FloatRun& run : datum.floats) found += run.count;
  }
  if (found != expected) {
    throw SampleError(
        StrCat("Datum: ", found, floats ? " floats" : " bytes", " of pixels, expected ", expected));
  }
  return {static_cast<int>(datum.height), static_cast<int>(datum.width)};
}

PixelFormat RawFormat(const Datum& datum) { return {datum.type, static_cast<int>(datum.channels)}; }

void ReadRawDatum(const Datum& datum, uint8_t* to) {
  if (datum.type == PixelType::kUINT8) {
    const uint8_t* from = datum.data;
    ToPixels(
        datum, [&from] { return *from++; }, to);
    return;
  }
  auto run = datum.floats.begin();
  int64_t number = 0;
  const auto next = [&] {
    if (number == run->count) {
      ++run;
      number = 0;
    }
    float value;
    std::memcpy(&value, datum.message + run->offset + number++ * run->stride, sizeof(value));
    if (!std::isfinite(value)) {
      throw SampleError(StrCat("Datum: a pixel is ", value, ", expected finite numbers"));
    }
    return value;
  };
  ToPixels(datum, next, reinterpret_cast<float*>(to));
}

std::string RawDatumPlanes(const uint8_t* pixels, ImageSize size, PixelFormat format) {
  const bool bytes = format.type == PixelType::kUINT8;
  std::string planes(size.pixels() * format.channels * (bytes ? 1 : sizeof(float)), '\0');
  if (bytes) {
    ToPlanes<uint8_t, uint8_t>(pixels, size, format.channels, &planes[0]);
  } else if (format.type == PixelType::kUINT16) {
    ToPlanes<float, uint16_t>(pixels, size, format.channels, &planes[0]);
  } else {
    ToPlanes<float, float>(pixels, size, format.channels, &planes[0]);
  }
  return planes;
}

}  // namespace gf

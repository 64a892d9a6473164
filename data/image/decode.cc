#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "data/image/codec.h"

namespace gf {
namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* name;
};

// Names other formats that occur in data sets, for error messages.
const char* NameOfOther(const uint8_t* data, size_t size) {
  static constexpr Magic kOthers[] = {
      {4, "ftyp", "an AVIF, HEIC or MP4"}, {0, "\x1f\x8b", "gzip data"},
      {0, "PK\x03\x04", "a zip archive"},  {0, "<!DOCTYPE", "an HTML page"},
      {0, "<html", "an HTML page"},
  };
  for (const Magic& magic : kOthers) {
    if (HasBytes(data, size, magic.offset, magic.bytes)) return magic.name;
  }
  return nullptr;
}

// The formats in the order in which they are tried, the most frequent first.
const std::vector<const Codec*>& Codecs() {
  static const auto* const codecs = [] {
    auto* all = new std::vector<const Codec*>{&JpegCodec(), &PngCodec(), &GifCodec(), &TiffCodec()};
    for (const Codec& codec : OpenCvCodecs()) all->push_back(&codec);
    return all;
  }();
  return *codecs;
}

// "JPEG, PNG, GIF"
std::string NamesOfFormats() {
  std::string names;
  for (const Codec* codec : Codecs()) {
    names += (names.empty() ? "" : ", ") + std::string(codec->name);
  }
  return names;
}

// Writes all rows to memory chosen by the caller.
class WholeImage : public RowSink {
 public:
  WholeImage(PixelFormat format, const PlaceImage& place) : format_(format), place_(place) {}

  DecodeRequest Begin(ImageSize size, bool) override {
    size_ = size;
    to_ = place_(size);
    DecodeRequest request;
    request.window = {0, 0, size.height, size.width};
    request.format = format_;
    return request;
  }
  void Row(const uint8_t* row) override {
    const int64_t bytes = size_.width * format_.bytes();
    std::memcpy(to_, row, bytes);
    to_ += bytes;
  }
  ImageSize size() const { return size_; }

 private:
  const PixelFormat format_;
  const PlaceImage& place_;
  ImageSize size_;
  uint8_t* to_ = nullptr;
};

const Codec& FindCodec(const uint8_t* data, size_t size) {
  for (const Codec* codec : Codecs()) {
    if (codec->recognizes(data, size)) return *codec;
  }
  if (size == 0) throw SampleError("the image is empty (0 bytes)");
  if (const char* name = NameOfOther(data, size)) {
    throw SampleError(StrCat("this is ", name, ", expected an image (", NamesOfFormats(), ")"));
  }
  throw SampleError(StrCat("not an image in a known format (", NamesOfFormats(), ")"));
}

// Drops the last channel of each pixel, in place.
void DropLastChannel(uint8_t* pixels, int64_t count, PixelFormat* format) {
  const int64_t from_bytes = format->bytes();
  --format->channels;
  const int64_t to_bytes = format->bytes();
  for (int64_t i = 1; i < count; ++i) {
    std::memmove(pixels + i * to_bytes, pixels + i * from_bytes, to_bytes);
  }
}

void CheckFinite(const char* name, const float* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(numbers[i])) continue;
    throw SampleError(StrCat(name, ": a pixel is ", numbers[i], ", expected finite numbers"));
  }
}

}  // namespace

bool HasBytes(const uint8_t* data, size_t size, size_t offset, std::string_view bytes) {
  return size >= offset + bytes.size() &&
         std::memcmp(data + offset, bytes.data(), bytes.size()) == 0;
}

ImageInfo ProbeImage(const uint8_t* data, size_t size) {
  return FindCodec(data, size).probe(data, size);
}

void DecodeRows(const uint8_t* data, size_t size, RowSink* sink) {
  FindCodec(data, size).decode(data, size, sink);
}

ImageSize DecodeImage(const uint8_t* data, size_t size, PixelFormat format,
                      const PlaceImage& place) {
  WholeImage sink(format, place);
  DecodeRows(data, size, &sink);
  return sink.size();
}

void SendImage(const char* name, uint8_t* pixels, ImageSize size, PixelFormat format, bool alpha,
               RowSink* sink) {
  if (format.type == PixelType::kFP32) {
    CheckFinite(name, reinterpret_cast<const float*>(pixels), size.pixels() * format.channels);
  }
  const DecodeRequest request = sink->Begin(size, /*scalable=*/false);
  const int wanted = request.format.channels;
  if (!alpha && ((format.channels == 4 && wanted < 4) || (format.channels == 2 && wanted == 1))) {
    throw SampleError(StrCat(name, ": ", format.channels, " channels, none of them transparency, ",
                             "expected ", wanted, ": set channels: ", format.channels));
  }
  // Gray with transparency becomes gray, which can become RGB.
  if (alpha && format.channels == 2 && wanted == 3) {
    DropLastChannel(pixels, size.pixels(), &format);
  }
  BegunSink begun(request, sink);
  SendRows(pixels, size, format, &begun);
}

void CheckImageSize(const char* format, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMaxSide || width > kMaxSide ||
      height * width > kMaxPixels) {
    throw SampleError(StrCat(format, ": ", height, "x", width,
                             " (height x width) pixels, expected sides of 1 to ", kMaxSide,
                             " and at most ", kMaxPixels, " pixels"));
  }
}

}  // namespace gf

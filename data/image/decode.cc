#include <cstring>

#include "core/file.h"
#include "data/image/codec.h"

namespace gf {
namespace {

struct Magic {
  size_t offset;
  std::string bytes;
  const char* name;
};

// Names other formats that occur in data sets, for error messages.
const char* NameOfOther(const uint8_t* data, size_t size) {
  static const std::vector<Magic> kOthers = {
      {0, "BM", "a BMP"},
      {8, "WEBP", "a WebP"},
      {0, std::string("II*\0", 4), "a TIFF"},
      {0, std::string("MM\0*", 4), "a TIFF"},
      {4, "ftyp", "an AVIF, HEIC or MP4"},
      {0, "\x1f\x8b", "gzip data"},
      {0, "PK\x03\x04", "a zip archive"},
      {0, "<!DOCTYPE", "an HTML page"},
      {0, "<html", "an HTML page"},
  };
  for (const Magic& magic : kOthers) {
    if (size >= magic.offset + magic.bytes.size() &&
        std::memcmp(data + magic.offset, magic.bytes.data(), magic.bytes.size()) == 0) {
      return magic.name;
    }
  }
  return nullptr;
}

// Writes all rows to memory chosen by the caller.
class WholeImage : public RowSink {
 public:
  WholeImage(int channels, const PlaceImage& place) : channels_(channels), place_(place) {}

  DecodeRequest Begin(ImageSize size, bool) override {
    size_ = size;
    to_ = place_(size);
    return {1, {0, 0, size.height, size.width}, channels_};
  }
  void Row(const uint8_t* row) override {
    const size_t bytes = size_t(size_.width) * channels_;
    std::memcpy(to_, row, bytes);
    to_ += bytes;
  }
  ImageSize size() const { return size_; }

 private:
  const int channels_;
  const PlaceImage& place_;
  ImageSize size_;
  uint8_t* to_ = nullptr;
};

const Codec& FindCodec(const uint8_t* data, size_t size) {
  for (const Codec* codec : {&JpegCodec(), &PngCodec(), &GifCodec()}) {
    if (size >= codec->magic.size() &&
        std::memcmp(data, codec->magic.data(), codec->magic.size()) == 0) {
      return *codec;
    }
  }
  if (size == 0) throw SampleError("the image is empty (0 bytes)");
  if (const char* name = NameOfOther(data, size)) {
    throw SampleError(StrCat("this is ", name, ", expected a JPEG, PNG or GIF"));
  }
  throw SampleError("not a JPEG, PNG or GIF");
}

}  // namespace

bool IsImageName(const std::string& name) {
  return HasEnding(name, ".jpg") || HasEnding(name, ".jpeg") || HasEnding(name, ".png");
}

ImageInfo ProbeImage(const uint8_t* data, size_t size) {
  return FindCodec(data, size).probe(data, size);
}

void DecodeRows(const uint8_t* data, size_t size, RowSink* sink) {
  FindCodec(data, size).decode(data, size, sink);
}

ImageSize DecodeImage(const uint8_t* data, size_t size, int channels, const PlaceImage& place) {
  WholeImage sink(channels, place);
  DecodeRows(data, size, &sink);
  return sink.size();
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

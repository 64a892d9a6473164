#include "data/image/openexr_header.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "core/printable.h"
#include "data/image/image.h"

namespace gf {
namespace {

constexpr char kName[] = "OpenEXR";
constexpr size_t kMagicAndVersion = 8;
constexpr uint32_t kSeveralParts = 1 << 12;  // in the version

[[noreturn]] void Fail(std::string_view attribute, const std::string& what) {
  throw SampleError(
      StrCat(kName, ": the header's attribute \"", Excerpt(std::string(attribute)), "\" ", what));
}

// Reads the bytes of a file, or of an attribute, from first to last; numbers have their lowest
// byte first.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  size_t left() const { return size_; }

  uint32_t Number() {
    const Reader bytes = Take(4);
    return bytes.data_[0] | bytes.data_[1] << 8 | bytes.data_[2] << 16 |
           static_cast<uint32_t>(bytes.data_[3]) << 24;
  }
  int32_t Integer() { return static_cast<int32_t>(Number()); }

  // Text up to a byte of 0.
  std::string_view Text() {
    const void* const end = size_ > 0 ? std::memchr(data_, 0, size_) : nullptr;
    if (!end) throw SampleError(StrCat(kName, ": truncated header"));
    const auto length = static_cast<size_t>(static_cast<const uint8_t*>(end) - data_);
    const std::string_view text(reinterpret_cast<const char*>(data_), length);
    Take(length + 1);
    return text;
  }

  Reader Take(size_t bytes) {
    if (bytes > size_) throw SampleError(StrCat(kName, ": truncated header"));
    const Reader taken(data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return taken;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// What OpenEXR takes from the header of a part before it allocates buffers.
struct Part {
  int64_t height = 0, width = 0;
  int64_t tile_height = 0, tile_width = 0;
  int64_t bytes = 0;  // of a pixel
};

// Sizes of values of fixed size. OpenEXR reads this many bytes, whatever the attribute says, and
// takes the next one from there.
const std::map<std::string_view, size_t>& FixedSizes() {
  static const auto* const sizes = new std::map<std::string_view, size_t>{
      {"box2f", 16},         {"box2i", 16},    {"chromaticities", 32},
      {"compression", 1},    {"double", 8},    {"envmap", 1},
      {"deepImageState", 1}, {"float", 4},     {"int", 4},
      {"keycode", 28},       {"lineOrder", 1}, {"m33d", 72},
      {"m33f", 36},          {"m44d", 128},    {"m44f", 64},
      {"rational", 8},       {"tiledesc", 9},  {"timecode", 8},
      {"v2d", 16},           {"v2f", 8},       {"v2i", 8},
      {"v3d", 24},           {"v3f", 12},      {"v3i", 12},
  };
  return *sizes;
}

void TakeWindow(Reader value, Part* part) {
  const int64_t left = value.Integer(), top = value.Integer();
  const int64_t right = value.Integer(), bottom = value.Integer();
  part->height = bottom - top + 1;
  part->width = right - left + 1;
  CheckImageSize(kName, part->height, part->width);
}

void TakeTiles(std::string_view attribute, Reader value, Part* part) {
  part->tile_width = value.Number();
  part->tile_height = value.Number();
  if (part->tile_width >= 1 && part->tile_height >= 1) return;
  Fail(attribute, StrCat("says ", part->tile_height, "x", part->tile_width,
                         " (height x width), expected sides of at least 1"));
}

// Of each channel a name, its type, and 12 bytes more; then an empty name.
void TakeChannels(std::string_view attribute, Reader value, Part* part) {
  constexpr uint32_t kHalf = 1;
  while (!value.Text().empty()) {
    part->bytes += value.Number() == kHalf ? 2 : 4;
    value.Take(12);
  }
  if (value.left() > 0) {
    Fail(attribute, StrCat("has ", value.left(), " bytes behind the last channel, expected none"));
  }
}

// The file's small picture: two sides and 4 bytes per pixel.
void CheckPreview(std::string_view attribute, Reader value) {
  const uint64_t width = value.Number(), height = value.Number();
  if (width <= kMaxSide && height <= kMaxSide && width * height * 4 == value.left()) return;
  Fail(attribute, StrCat("says ", height, "x", width, " (height x width) pixels, but has ",
                         value.left(), " bytes of them"));
}

void CheckTexts(std::string_view attribute, Reader value) {
  while (value.left() > 0) {
    const uint32_t length = value.Number();
    if (length > value.left()) {
      Fail(attribute, StrCat("has a text of ", length, " bytes, but ends after ", value.left()));
    }
    value.Take(length);
  }
}

// Compressed: the number of bytes that it has when unpacked comes first.
void CheckManifest(std::string_view attribute, Reader value) {
  const uint32_t bytes = value.Number();
  if (bytes <= kMaxEncodedBytes) return;
  Fail(attribute, StrCat("unpacks to ", bytes, " bytes, expected at most ", kMaxEncodedBytes));
}

void TakeAttribute(std::string_view name, std::string_view type, const Reader& value, Part* part) {
  const auto fixed = FixedSizes().find(type);
  if (fixed != FixedSizes().end() && value.left() != fixed->second) {
    Fail(name, StrCat("has ", value.left(), " bytes, expected ", fixed->second, " of type ", type));
  }
  if (name == "dataWindow" && type == "box2i") TakeWindow(value, part);
  if (type == "tiledesc") TakeTiles(name, value, part);
  if (type == "chlist") TakeChannels(name, value, part);
  if (type == "preview") CheckPreview(name, value);
  if (type == "stringvector") CheckTexts(name, value);
  if (type == "idmanifest") CheckManifest(name, value);
}

// Buffers that OpenEXR allocates: a tile, or the up to 256 lines that are compressed together.
void CheckBuffers(const Part& part) {
  constexpr int64_t kMostTile = 4096, kMostLines = 256, kMostBytes = int64_t{1} << 29;
  if (part.tile_height > std::max(kMostTile, part.height) ||
      part.tile_width > std::max(kMostTile, part.width)) {
    throw SampleError(StrCat(kName, ": tiles of ", part.tile_height, "x", part.tile_width,
                             " (height x width) pixels, expected sides of at most ", kMostTile,
                             " or the image's"));
  }
  const int64_t line = std::max(part.width * kMostLines, part.tile_height * part.tile_width);
  if (line * part.bytes > kMostBytes) {
    throw SampleError(StrCat(kName, ": ", part.bytes, " bytes per pixel, expected at most ",
                             kMostBytes / line, " for ", part.width, " columns"));
  }
}

// Returns false for a header without attributes, which ends the list of parts.
bool CheckPart(Reader* file) {
  Part part;
  bool any = false;
  for (std::string_view name = file->Text(); !name.empty(); name = file->Text()) {
    const std::string_view type = file->Text();
    const uint32_t bytes = file->Number();
    if (bytes > file->left()) {
      Fail(name, StrCat("has ", bytes, " bytes, but the file ends after ", file->left()));
    }
    TakeAttribute(name, type, file->Take(bytes), &part);
    any = true;
  }
  CheckBuffers(part);
  return any;
}

}  // namespace

void CheckOpenExrHeader(const uint8_t* data, size_t size) {
  Reader file(data, size);
  Reader start = file.Take(kMagicAndVersion);
  start.Take(4);
  const bool several_parts = start.Number() & kSeveralParts;
  while (CheckPart(&file) && several_parts) {
  }
}

}  // namespace gf

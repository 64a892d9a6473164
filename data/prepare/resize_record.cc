#include "data/prepare/resize_record.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr int kLargestSide = 65'500;  // of libjpeg

// The number that a text of digits stands for, 0 to kLargestSide; -1 for any other text.
int ParseSide(const std::string& text) {
  if (text.empty() || text.size() > 5 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return -1;
  }
  const int side = std::stoi(text);
  return side <= kLargestSide ? side : -1;
}

}  // namespace

ImageSize ResizeTo::Of(ImageSize size) const {
  if (both.pixels() > 0) return both;
  const int64_t side = std::min(size.height, size.width), to = shorter;
  if (to == 0 || side <= to) return size;
  return {static_cast<int>((size.height * to + side / 2) / side),
          static_cast<int>((size.width * to + side / 2) / side)};
}

std::string ResizeTo::ToString() const {
  return both.pixels() > 0 ? StrCat(both.height, "x", both.width) : StrCat(shorter);
}

ResizeTo ParseResize(const std::string& text) {
  const size_t x = text.find('x');
  const bool two = x != std::string::npos;
  const int first = ParseSide(text.substr(0, x)), second = two ? ParseSide(text.substr(x + 1)) : 0;
  if (first < 0 || second < 0 || (two && (first == 0 || second == 0))) {
    ThrowUserError("--resize=", text,
                   ": expected N, the shorter side, or HxW, height and width, of 1 to ",
                   kLargestSide, " pixels, e.g. 256 or 256x256; 0 keeps the files' bytes");
  }
  ResizeTo to;
  if (!two) {
    to.shorter = first;
    return to;
  }
  to.both = {first, second};
  if (to.both.pixels() > kMaxPixels) {
    ThrowUserError("--resize=", text, ": images of ", WithCommas(to.both.pixels()),
                   " pixels, expected at most ", WithCommas(kMaxPixels));
  }
  return to;
}

EncodedImage ResizeRecord(const Record& record, const ResizeTo& to, int quality,
                          Renderer* renderer) {
  std::vector<uint8_t> pixels;
  const PixelFormat format = ProbeImage(record.data, record.size).pixel_format();
  const ImageSize size = DecodeImage(record.data, record.size, format, [&](ImageSize s) {
    pixels.resize(s.pixels() * format.bytes());
    return pixels.data();
  });
  const ImageSize wanted = to.Of(size);
  if (wanted == size) return EncodeRecord(record, 0);
  std::vector<uint8_t> resized(wanted.pixels() * format.bytes());
  RenderPixels(pixels.data(), size, format, WholeView(size, wanted, DataConfig::LANCZOS), renderer,
               resized.data());
  return EncodePixels(resized.data(), wanted, format, quality);
}

}  // namespace gf

#include "data/prepare/shrink.h"

#include <algorithm>
#include <vector>

#include "data/image/image.h"

namespace gf {

EncodedImage Shrink(const Record& record, int shorter, int quality, Renderer* renderer) {
  std::vector<uint8_t> pixels;
  const int channels = ProbeImage(record.data, record.size).channels;
  const ImageSize size = DecodeImage(record.data, record.size, channels, [&](ImageSize s) {
    pixels.resize(s.pixels() * channels);
    return pixels.data();
  });
  const int64_t side = std::min(size.height, size.width), to = shorter;
  if (side <= to) return EncodeRecord(record, 0);
  const ImageSize smaller = {
      static_cast<int>((size.height * to + side / 2) / side),
      static_cast<int>((size.width * to + side / 2) / side),
  };
  std::vector<uint8_t> resized(smaller.pixels() * channels);
  RenderPixels(pixels.data(), size, channels, WholeView(size, smaller, DataConfig::LANCZOS),
               renderer, resized.data());
  EncodedImage image = {nullptr, 0, ".jpg", EncodeJpeg(resized.data(), smaller, channels, quality)};
  image.data = image.owned.data();
  image.size = image.owned.size();
  return image;
}

}  // namespace gf

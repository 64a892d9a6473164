#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace gf {

// A whole image as DecodeImage delivers it.
struct Decoded {
  ImageSize size;
  std::vector<uint8_t> pixels;
};

inline Decoded DecodeAs(const uint8_t* data, size_t bytes, PixelFormat format) {
  Decoded result;
  // On the heap in its exact size, so that sanitizers see a read beyond it.
  const std::vector<uint8_t> exact(data, data + bytes);
  result.size = DecodeImage(exact.data(), exact.size(), format, [&](ImageSize size) {
    result.pixels.resize(size.pixels() * format.bytes());
    return result.pixels.data();
  });
  return result;
}

inline Decoded DecodeAs(const std::string& file, PixelFormat format) {
  return DecodeAs(reinterpret_cast<const uint8_t*>(file.data()), file.size(), format);
}

inline ImageInfo Probe(const std::string& file) {
  return ProbeImage(reinterpret_cast<const uint8_t*>(file.data()), file.size());
}

// The samples that a file stores: all its channels, transparency too, in its own type.
inline Decoded DecodeStored(const std::string& file) {
  const ImageInfo info = Probe(file);
  return DecodeAs(file, {info.type, info.channels + (info.alpha ? 1 : 0)});
}

}  // namespace gf

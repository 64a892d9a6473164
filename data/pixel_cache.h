#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/image.h"

namespace gf {

// Keeps decoded images, as many as fit: those that come first. In memory of this process, or in
// a file that several processes of a host share and that serves later jobs, too. Images never
// leave it. Safe to use from several threads and processes.
class PixelCache {
 public:
  // samples: numbers of images are below this. channels: of all images. bytes: for pixels. file:
  // empty = memory. identity: what the images depend on; a file that was made for another identity
  // is a UserError, as is one that cannot be created in its full length.
  PixelCache(int64_t samples, int channels, int64_t bytes, const std::string& file,
             uint64_t identity);
  ~PixelCache();
  PixelCache(const PixelCache&) = delete;
  PixelCache& operator=(const PixelCache&) = delete;

  // The pixels of image i, valid as long as the cache lives; null if it is not there.
  const uint8_t* Find(int64_t i, ImageSize* size) const;
  // Keeps a copy of an image, if it fits and nobody else is keeping it.
  void Keep(int64_t i, const uint8_t* pixels, ImageSize size);

  // Images and bytes of pixels held, by all processes together.
  int64_t images() const;
  int64_t bytes() const;

 private:
  struct Header;
  struct Entry;

  void OpenFile(const std::string& file);
  void CheckHeader(const std::string& file, uint64_t identity) const;
  Entry* entries() const;

  const int64_t samples_;
  const int channels_;
  size_t length_;     // of the mapping
  size_t pixels_at_;  // where in it pixels begin
  int descriptor_ = -1;
  uint8_t* memory_ = nullptr;
  Header* header_ = nullptr;
};

}  // namespace gf

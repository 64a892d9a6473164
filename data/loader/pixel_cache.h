#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data/image/image.h"

namespace gf {

// Keeps decoded images, as many as fit: those that come first. Safe to use from several threads.
class PixelCache {
 public:
  virtual ~PixelCache() = default;

  // The pixels of image i, valid as long as they are held and the cache lives; null if it is not
  // there.
  virtual std::shared_ptr<const uint8_t> Find(int64_t i, ImageSize* size) const = 0;
  // Keeps a copy of an image, if it fits and nobody else is keeping it.
  virtual void Keep(int64_t i, const uint8_t* pixels, ImageSize size) = 0;
  // This process needs image i no more: its room may be given to another.
  virtual void Drop(int64_t i) = 0;

  // Number of images held.
  virtual int64_t images() const = 0;
};

// In memory of this process. channels: of all images. bytes: of pixels at most.
std::unique_ptr<PixelCache> NewMemoryCache(int channels, int64_t bytes);

// In a file that several processes of a host share and that serves later jobs, too; images never
// leave it. samples: numbers of images are below this. identity: what the images depend on; a file
// that was made for another identity is a UserError, as is one that cannot be created in its full
// length.
std::unique_ptr<PixelCache> OpenCacheFile(int64_t samples, int channels, int64_t bytes,
                                          const std::string& file, uint64_t identity);

}  // namespace gf

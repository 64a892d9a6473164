#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data/image/byte_buffer.h"
#include "data/image/image.h"

namespace gf {

// Keeps decoded images: the first ones, as many as fit. Safe to use from several threads.
class PixelCache {
 public:
  virtual ~PixelCache() = default;

  // The pixels of image i, or null if it is not in the cache. They are valid while the pointer and
  // the cache exist, and until `scratch`, which may hold them, is used again.
  virtual std::shared_ptr<const uint8_t> Find(int64_t i, ImageSize* size,
                                              ByteBuffer* scratch) const = 0;
  // Whether Find will very likely find image i.
  virtual bool Holds(int64_t i) const = 0;
  // Stores a copy of an image if it fits and no other thread or process is storing it.
  virtual void Keep(int64_t i, const uint8_t* pixels, ImageSize size) = 0;
  // Tells the cache that this process no longer needs image i; another image may use its memory.
  virtual void Drop(int64_t i) = 0;

  // Number of images held.
  virtual int64_t images() const = 0;
};

// A cache in memory of this process, for images with `pixel_bytes` bytes per pixel and up to
// `bytes` bytes of pixels. Images are aligned to at least 16 bytes, here and in a file's `scratch`.
std::unique_ptr<PixelCache> NewMemoryCache(int64_t pixel_bytes, int64_t bytes);

// A cache in a file that the processes of a host share and later jobs reuse; it never drops images.
// Image numbers are below `samples`. `identity` is a hash of everything that the pixels depend on.
// Throws UserError if the file has another identity or cannot be created in its full length. A file
// that another program makes shorter is given up with a warning.
std::unique_ptr<PixelCache> OpenCacheFile(int64_t samples, int64_t pixel_bytes, int64_t bytes,
                                          const std::string& file, uint64_t identity);

}  // namespace gf

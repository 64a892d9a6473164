#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "data/loader/pixel_cache.h"

namespace gf {
namespace {

class MemoryCache : public PixelCache {
 public:
  MemoryCache(int64_t pixel_bytes, int64_t bytes) : pixel_bytes_(pixel_bytes), most_(bytes) {}

  std::shared_ptr<const uint8_t> Find(int64_t i, ImageSize* size, ByteBuffer*) const override {
    const Part& part = PartOf(i);
    std::lock_guard<std::mutex> lock(part.mutex);
    const auto found = part.images.find(i);
    if (found == part.images.end()) return nullptr;
    *size = found->second.size;
    return found->second.pixels;
  }

  bool Holds(int64_t i) const override {
    const Part& part = PartOf(i);
    std::lock_guard<std::mutex> lock(part.mutex);
    return part.images.count(i) != 0;
  }

  void Keep(int64_t i, const uint8_t* pixels, ImageSize size) override {
    const int64_t bytes = Bytes(size);
    if (bytes_.fetch_add(bytes) + bytes > most_) {
      bytes_ -= bytes;
      return;
    }
    const size_t room = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::shared_ptr<uint8_t> copy(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, room)),
                                        std::free);
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy.get(), pixels, bytes);
    Part& part = PartOf(i);
    std::lock_guard<std::mutex> lock(part.mutex);
    if (part.images.emplace(i, Image{copy, size}).second) {
      ++images_;
    } else {
      bytes_ -= bytes;
    }
  }

  void Drop(int64_t i) override {
    Part& part = PartOf(i);
    std::lock_guard<std::mutex> lock(part.mutex);
    const auto found = part.images.find(i);
    if (found == part.images.end()) return;
    bytes_ -= Bytes(found->second.size);
    --images_;
    part.images.erase(found);
  }

  int64_t images() const override { return images_; }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr int kParts = 64;  // so that threads rarely wait for each other

  struct Image {
    std::shared_ptr<const uint8_t> pixels;
    ImageSize size;
  };
  struct Part {
    mutable std::mutex mutex;
    std::unordered_map<int64_t, Image> images;
  };

  int64_t Bytes(ImageSize size) const { return size.pixels() * pixel_bytes_; }
  Part& PartOf(int64_t i) { return parts_[i % kParts]; }
  const Part& PartOf(int64_t i) const { return parts_[i % kParts]; }

  const int64_t pixel_bytes_;
  const int64_t most_;
  std::array<Part, kParts> parts_;
  std::atomic<int64_t> images_{0}, bytes_{0};
};

}  // namespace

std::unique_ptr<PixelCache> NewMemoryCache(int64_t pixel_bytes, int64_t bytes) {
  return std::make_unique<MemoryCache>(pixel_bytes, bytes);
}

}  // namespace gf

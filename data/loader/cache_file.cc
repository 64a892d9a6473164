#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"
#include "data/loader/pixel_cache.h"

namespace gf {
namespace {

constexpr uint64_t kMagic = 0x3130656863614667u;  // "gFache01"
constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The mapping begins with a Header and one Entry per sample; pixels follow. A file of zeros is an
// empty cache.
struct Header {
  std::atomic<uint64_t> magic, identity, samples, length;
  std::atomic<uint64_t> used, images;  // bytes of pixels assigned; number of images
};

struct Entry {
  // 0 = absent, 1 = being written, otherwise the offset of its pixels.
  std::atomic<uint64_t> place;
  std::atomic<uint32_t> height, width;
};

class CacheFile : public PixelCache {
 public:
  CacheFile(int64_t samples, int channels, int64_t bytes, const std::string& file,
            uint64_t identity);
  ~CacheFile() override;
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  std::shared_ptr<const uint8_t> Find(int64_t i, ImageSize* size) const override;
  void Keep(int64_t i, const uint8_t* pixels, ImageSize size) override;
  void Drop(int64_t i) override {}  // others may need it

  int64_t images() const override { return static_cast<int64_t>(header_->images.load()); }

 private:
  void OpenFile(const std::string& file);
  void CheckHeader(const std::string& file, uint64_t identity) const;
  Entry* entries() const { return reinterpret_cast<Entry*>(memory_ + sizeof(Header)); }

  const int64_t samples_;
  const int channels_;
  size_t length_;     // of the mapping, in bytes
  size_t pixels_at_;  // offset of the first pixels
  int descriptor_ = -1;
  uint8_t* memory_ = nullptr;
  Header* header_ = nullptr;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free, "the file is shared by processes");

CacheFile::CacheFile(int64_t samples, int channels, int64_t bytes, const std::string& file,
                     uint64_t identity)
    : samples_(samples), channels_(channels) {
  pixels_at_ = Aligned(sizeof(Header) + samples * sizeof(Entry));
  length_ = pixels_at_ + Aligned(bytes);
  OpenFile(file);
  void* memory = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    ThrowUserError(file, ": cannot map ", length_, " bytes: ", std::strerror(error));
  }
  memory_ = static_cast<uint8_t*>(memory);
  header_ = reinterpret_cast<Header*>(memory_);
  try {
    if (header_->magic == 0) {
      header_->identity = identity;
      header_->samples = samples;
      header_->length = length_;
      header_->magic = kMagic;
    } else {
      CheckHeader(file, identity);
    }
  } catch (...) {
    munmap(memory_, length_);
    close(descriptor_);
    throw;
  }
  flock(descriptor_, LOCK_UN);
}

CacheFile::~CacheFile() {
  munmap(memory_, length_);
  close(descriptor_);
}

// Opens the file, extends it to its full length and locks it against other processes that do the
// same.
void CacheFile::OpenFile(const std::string& file) {
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) ThrowUserError(file, ": cannot be opened: ", std::strerror(errno));
  const auto fail = [&](const auto&... what) {
    close(descriptor_);
    ThrowUserError(file, ": ", what...);
  };
  if (flock(descriptor_, LOCK_EX) != 0) fail("cannot be locked: ", std::strerror(errno));
  struct stat status;
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) fail("not a regular file");
  if (status.st_size == 0) {
    // Allocates all bytes now: if the disk filled up later, a write would kill the process.
    const int error = posix_fallocate(descriptor_, 0, length_);
    if (error != 0) {
      const bool emptied = ftruncate(descriptor_, 0) == 0;
      fail("cannot allocate ", length_, " bytes: ", std::strerror(error),
           emptied ? "" : "; delete it");
    }
  } else if (static_cast<size_t>(status.st_size) != length_) {
    fail("has ", status.st_size, " bytes, expected ", length_,
         "; it was made for another data set or cache_mib: delete it or name another cache_file");
  }
}

void CacheFile::CheckHeader(const std::string& file, uint64_t identity) const {
  if (header_->magic != kMagic || header_->identity != identity ||
      header_->samples != static_cast<uint64_t>(samples_) || header_->length != length_) {
    ThrowUserError(file,
                   ": was made for another data set or for other settings of size, channels "
                   "or filter; delete it or name another cache_file");
  }
}

std::shared_ptr<const uint8_t> CacheFile::Find(int64_t i, ImageSize* size) const {
  const Entry& entry = entries()[i];
  const uint64_t place = entry.place.load(std::memory_order_acquire);
  if (place < pixels_at_ || place >= length_) return nullptr;
  const uint64_t height = entry.height, width = entry.width;
  // Entries of a damaged file must not point outside the file.
  if (height == 0 || width == 0 || height > kMaxPixels || width > kMaxPixels ||
      height * width * channels_ > length_ - place) {
    return nullptr;
  }
  *size = {static_cast<int>(height), static_cast<int>(width)};
  // The mapping outlives the pointer.
  return {std::shared_ptr<const uint8_t>(), memory_ + place};
}

void CacheFile::Keep(int64_t i, const uint8_t* pixels, ImageSize size) {
  Entry& entry = entries()[i];
  const size_t bytes = size.pixels() * channels_;
  const size_t room = Aligned(bytes);
  if (header_->used + room > length_ - pixels_at_) return;
  uint64_t empty = 0;
  if (!entry.place.compare_exchange_strong(empty, 1)) return;
  const uint64_t begin = header_->used.fetch_add(room);
  if (begin + room > length_ - pixels_at_) {
    header_->used.fetch_sub(room);
    entry.place = 0;
    return;
  }
  std::memcpy(memory_ + pixels_at_ + begin, pixels, bytes);
  entry.height = size.height;
  entry.width = size.width;
  entry.place.store(pixels_at_ + begin, std::memory_order_release);
  ++header_->images;
}

}  // namespace

std::unique_ptr<PixelCache> OpenCacheFile(int64_t samples, int channels, int64_t bytes,
                                          const std::string& file, uint64_t identity) {
  return std::make_unique<CacheFile>(samples, channels, bytes, file, identity);
}

}  // namespace gf

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "data/loader/pixel_cache.h"

namespace gf {
namespace {

constexpr uint64_t kMagic = 0x3130656863614667u;  // "gFache01"
constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The file begins with a Header and one Entry per sample; pixels follow. A file of zeros is an
// empty cache. Header and entries are read and written under the file's lock.
struct Header {
  uint64_t magic, identity, samples, length;
  uint64_t used, images;  // bytes of pixels assigned; number of images
};

struct Entry {
  // 0 = absent, 1 = being written, otherwise the offset of its pixels.
  uint64_t place;
  uint32_t height, width;
};

// Locks the file against other processes; threads of this one share the lock.
class FileLock {
 public:
  FileLock(int descriptor, int kind) : descriptor_(descriptor) {
    while (flock(descriptor, kind) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int descriptor_;
};

// Reads and writes by system calls, not through a map: a file that somebody cuts off would end a
// process that has it mapped. Such a file is given up, with a warning.
class CacheFile : public PixelCache {
 public:
  CacheFile(int64_t samples, int64_t pixel_bytes, int64_t bytes, const std::string& file,
            uint64_t identity);

  std::shared_ptr<const uint8_t> Find(int64_t i, ImageSize* size,
                                      ByteBuffer* scratch) const override;
  bool Holds(int64_t i) const override { return PlaceOf(i) != 0; }
  void Keep(int64_t i, const uint8_t* pixels, ImageSize size) override;
  void Drop(int64_t i) override {}  // others may need it

  int64_t images() const override;

 private:
  // What this process knows of an image; `place` is set last, and 0 for none.
  struct Known {
    std::atomic<uint64_t> place{0};
    uint32_t height = 0, width = 0;
  };

  void OpenFile();
  void ReadTable(uint64_t identity);
  bool Read(uint64_t offset, void* to, size_t bytes) const;
  bool Write(uint64_t offset, const void* from, size_t bytes) const;
  bool IsWhole() const;
  void GiveUp() const;
  void Learn(int64_t i, const Entry& entry) const;
  uint64_t PlaceOf(int64_t i) const;
  uint64_t Reserve(int64_t i, size_t room);
  static uint64_t OffsetOf(int64_t i) { return sizeof(Header) + i * sizeof(Entry); }

  const std::string file_;
  const int64_t samples_;
  const int64_t pixel_bytes_;
  const size_t pixels_at_;  // offset of the first pixels
  const size_t length_;     // of the file, in bytes
  FileDescriptor descriptor_;
  mutable std::mutex mutex_;  // for the file's lock, and for writing what is known
  const std::unique_ptr<Known[]> known_;
  // Bytes for further pixels when this process looked last; never fewer than there are.
  std::atomic<size_t> left_{SIZE_MAX};
  mutable std::atomic<bool> given_up_{false};
};

CacheFile::CacheFile(int64_t samples, int64_t pixel_bytes, int64_t bytes, const std::string& file,
                     uint64_t identity)
    : file_(file),
      samples_(samples),
      pixel_bytes_(pixel_bytes),
      pixels_at_(Aligned(sizeof(Header) + samples * sizeof(Entry))),
      length_(pixels_at_ + Aligned(bytes)),
      descriptor_(OpenOrCreate(file)),
      known_(new Known[samples]) {
  if (flock(descriptor_.get(), LOCK_EX) != 0) ThrowFileError("lock", file, errno);
  OpenFile();
  ReadTable(identity);
  flock(descriptor_.get(), LOCK_UN);
}

// Extends the file to its full length.
void CacheFile::OpenFile() {
  const int number = descriptor_.get();
  struct stat status;
  if (fstat(number, &status) != 0 || !S_ISREG(status.st_mode)) {
    ThrowUserError(file_, ": not a regular file");
  }
  if (status.st_size == 0) {
    // Allocates all bytes now, so that the disk cannot fill up later.
    const int error = posix_fallocate(number, 0, length_);
    if (error != 0) {
      const bool emptied = ftruncate(number, 0) == 0;
      ThrowFileError(StrCat("reserve ", length_, " bytes for"),
                     file_ + (emptied ? "" : " (delete it)"), error);
    }
  } else if (static_cast<size_t>(status.st_size) != length_) {
    ThrowUserError(file_, ": has ", status.st_size, " bytes, expected ", length_,
                   "; it was made for another data set or cache_mib: delete it or name another "
                   "cache_file");
  }
}

void CacheFile::ReadTable(uint64_t identity) {
  const Header expected = {kMagic, identity, static_cast<uint64_t>(samples_), length_, 0, 0};
  Header header = {};
  std::vector<Entry> entries(samples_);
  if (!Read(0, &header, sizeof(header)) ||
      !Read(OffsetOf(0), entries.data(), entries.size() * sizeof(Entry))) {
    ThrowUserError(file_, ": cannot be read; delete it or name another cache_file");
  }
  if (header.magic == 0) {
    if (!Write(0, &expected, sizeof(expected))) ThrowFileError("write", file_, errno);
    return;
  }
  if (header.magic != kMagic || header.identity != identity || header.samples != expected.samples ||
      header.length != length_) {
    ThrowUserError(file_,
                   ": was made for another data set or for other settings of size, "
                   "channels, pixel_type or filter; delete it or name another cache_file");
  }
  for (int64_t i = 0; i < samples_; ++i) Learn(i, entries[i]);
}

// False if the file ends before, or the system reports an error.
bool CacheFile::Read(uint64_t offset, void* to, size_t bytes) const {
  for (size_t got = 0; got < bytes;) {
    const ssize_t n =
        pread(descriptor_.get(), static_cast<char*>(to) + got, bytes - got, offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += n;
  }
  return true;
}

bool CacheFile::Write(uint64_t offset, const void* from, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(descriptor_.get(), static_cast<const char*>(from) + done, bytes - done,
                             offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += n;
  }
  return true;
}

// Writing would make a shorter file longer again, with zeros for pixels.
bool CacheFile::IsWhole() const {
  struct stat status;
  return fstat(descriptor_.get(), &status) == 0 && static_cast<size_t>(status.st_size) == length_;
}

void CacheFile::GiveUp() const {
  if (given_up_.exchange(true)) return;
  PrintWarning("cache_file ", file_,
               " was changed by another program, or cannot be read: this run goes on without it; "
               "delete it before the next one");
}

void CacheFile::Learn(int64_t i, const Entry& entry) const {
  if (entry.place < pixels_at_ || entry.place >= length_) return;
  // Entries of a damaged file must not point outside the file.
  const uint64_t height = entry.height, width = entry.width;
  if (height == 0 || width == 0 || height > kMaxPixels || width > kMaxPixels ||
      height * width * static_cast<uint64_t>(pixel_bytes_) > length_ - entry.place) {
    return;
  }
  known_[i].height = entry.height;
  known_[i].width = entry.width;
  known_[i].place.store(entry.place, std::memory_order_release);
}

// Where the pixels of an image are; asks the file for images that another process may have stored.
uint64_t CacheFile::PlaceOf(int64_t i) const {
  if (given_up_) return 0;
  const std::atomic<uint64_t>& place = known_[i].place;
  if (const uint64_t known = place.load(std::memory_order_acquire)) return known;
  const std::lock_guard<std::mutex> guard(mutex_);
  const FileLock lock(descriptor_.get(), LOCK_SH);
  if (place.load() != 0) return place.load();
  Entry entry;
  if (Read(OffsetOf(i), &entry, sizeof(entry))) {
    Learn(i, entry);
  } else {
    GiveUp();
  }
  return place.load();
}

std::shared_ptr<const uint8_t> CacheFile::Find(int64_t i, ImageSize* size,
                                               ByteBuffer* scratch) const {
  const uint64_t place = PlaceOf(i);
  if (place == 0) return nullptr;
  *size = {static_cast<int>(known_[i].height), static_cast<int>(known_[i].width)};
  const size_t bytes = size->pixels() * pixel_bytes_;
  uint8_t* const pixels = scratch->Reserve(bytes);
  if (!Read(place, pixels, bytes)) {
    GiveUp();
    return nullptr;
  }
  return {std::shared_ptr<const uint8_t>(), pixels};
}

// The offset of `room` bytes for an image, or 0: no room, or somebody else has stored the image.
uint64_t CacheFile::Reserve(int64_t i, size_t room) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const FileLock lock(descriptor_.get(), LOCK_EX);
  Header header;
  Entry entry;
  if (!IsWhole() || !Read(0, &header, sizeof(header)) ||
      !Read(OffsetOf(i), &entry, sizeof(entry))) {
    GiveUp();
    return 0;
  }
  const size_t all = length_ - pixels_at_;
  left_ = header.used > all ? 0 : all - header.used;
  if (entry.place != 0 || room > left_) return 0;
  const uint64_t place = pixels_at_ + header.used;
  header.used += room;
  entry.place = 1;
  if (Write(0, &header, sizeof(header)) && Write(OffsetOf(i), &entry, sizeof(entry))) return place;
  GiveUp();
  return 0;
}

void CacheFile::Keep(int64_t i, const uint8_t* pixels, ImageSize size) {
  if (given_up_ || known_[i].place.load() != 0) return;
  const size_t bytes = size.pixels() * pixel_bytes_;
  if (Aligned(bytes) > left_) return;
  const uint64_t place = Reserve(i, Aligned(bytes));
  if (place == 0) return;
  bool good = Write(place, pixels, bytes);
  const std::lock_guard<std::mutex> guard(mutex_);
  const FileLock lock(descriptor_.get(), LOCK_EX);
  const Entry entry = {place, static_cast<uint32_t>(size.height),
                       static_cast<uint32_t>(size.width)};
  Header header;
  good = good && IsWhole() && Read(0, &header, sizeof(header));
  if (good) {
    ++header.images;
    good = Write(OffsetOf(i), &entry, sizeof(entry)) && Write(0, &header, sizeof(header));
  }
  if (good) {
    Learn(i, entry);
  } else {
    GiveUp();
  }
}

int64_t CacheFile::images() const {
  if (given_up_) return 0;
  const std::lock_guard<std::mutex> guard(mutex_);
  const FileLock lock(descriptor_.get(), LOCK_SH);
  Header header;
  return Read(0, &header, sizeof(header)) ? static_cast<int64_t>(header.images) : 0;
}

}  // namespace

std::unique_ptr<PixelCache> OpenCacheFile(int64_t samples, int64_t pixel_bytes, int64_t bytes,
                                          const std::string& file, uint64_t identity) {
  return std::make_unique<CacheFile>(samples, pixel_bytes, bytes, file, identity);
}

}  // namespace gf

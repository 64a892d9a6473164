#include "data/formats/gzip.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

constexpr size_t kPiece = 1 << 20;

// Produces a file's bytes one piece after the other.
class Unpacker {
 public:
  explicit Unpacker(const std::string& path) : file_(path) {
    uint8_t magic[2];
    if (file_.ReadAt(0, magic, 2) < 2 || magic[0] != 0x1f || magic[1] != 0x8b) return;
    archive_.reset(archive_read_new());
    if (!archive_) throw std::bad_alloc();
    archive_read_support_filter_gzip(archive_.get());
    archive_read_support_format_raw(archive_.get());
    archive_entry* entry;
    if (archive_read_open_filename(archive_.get(), path.c_str(), kPiece) != ARCHIVE_OK ||
        archive_read_next_header(archive_.get(), &entry) != ARCHIVE_OK) {
      Fail();
    }
  }

  // Up to `bytes`; 0 at the end.
  size_t Read(uint8_t* to, size_t bytes) {
    if (!archive_) {
      const size_t got = file_.ReadAt(offset_, to, bytes);
      offset_ += got;
      return got;
    }
    const la_ssize_t got = archive_read_data(archive_.get(), to, bytes);
    if (got < 0) Fail();
    return got;
  }

 private:
  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };

  [[noreturn]] void Fail() const {
    const char* message = archive_error_string(archive_.get());
    ThrowUserError(file_.path(), ": cannot be unpacked: ", message ? message : "damaged",
                   "; perhaps it was not copied completely");
  }

  InputFile file_;
  std::unique_ptr<archive, Free> archive_;
  int64_t offset_ = 0;
};

}  // namespace

std::vector<uint8_t> ReadMaybeGzip(const std::string& path,
                                   int64_t (*limit)(const std::vector<uint8_t>& so_far)) {
  Unpacker unpacker(path);
  std::vector<uint8_t> bytes;
  for (size_t piece = 64;; piece = kPiece) {
    const size_t had = bytes.size();
    const int64_t room = limit(bytes) + 1 - static_cast<int64_t>(had);
    if (room <= 0) return bytes;
    bytes.resize(had + std::min<int64_t>(room, piece));
    const size_t got = unpacker.Read(bytes.data() + had, bytes.size() - had);
    bytes.resize(had + got);
    if (got == 0) return bytes;
  }
}

}  // namespace gf

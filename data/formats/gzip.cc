#include "data/formats/gzip.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

constexpr size_t kPiece = 1 << 20;

// Produces a file's bytes one piece after the other, unpacked if they begin as gzip.
class Unpacker {
 public:
  explicit Unpacker(const std::string& path) : file_(path) {
    const int descriptor = dup(file_.descriptor());  // gzclose closes it
    if (descriptor < 0) ThrowFileError("open", path, errno);
    stream_.reset(gzdopen(descriptor, "rb"));
    if (stream_) return;
    close(descriptor);
    throw std::bad_alloc();
  }

  // Up to `bytes`, at most kPiece; 0 at the end.
  size_t Read(uint8_t* to, size_t bytes) {
    const int got = gzread(stream_.get(), to, static_cast<unsigned>(bytes));
    // gzread takes gzip data that are cut off for the end of the file; only the status tells.
    if (got <= 0) CheckStatus();
    return static_cast<size_t>(got);
  }

 private:
  struct Close {
    void operator()(gzFile_s* stream) const { gzclose_r(stream); }
  };

  void CheckStatus() const {
    int status = Z_OK;
    std::string message = gzerror(stream_.get(), &status);
    if (status == Z_OK || status == Z_STREAM_END) return;
    if (status == Z_ERRNO) ThrowFileError("read", file_.path(), errno);
    // zlib knows the file by its descriptor only: "<fd:4>: unexpected end of file".
    if (message.compare(0, 4, "<fd:") == 0) message.erase(0, message.find(": ") + 2);
    ThrowUserError("cannot unpack ", file_.path(), ": ", message,
                   "; perhaps it was not copied completely");
  }

  const InputFile file_;
  std::unique_ptr<gzFile_s, Close> stream_;
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

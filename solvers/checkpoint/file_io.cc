#include "solvers/checkpoint/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const std::string& what, const std::string& path, int error) {
  ThrowUserError(what, " ", path, ": ", ExplainErrno(error));
}

void FreeHash(XXH3_state_s* state) { XXH3_freeState(state); }

class InputFd {
 public:
  explicit InputFd(const std::string& path) : path_(path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) Fail("cannot open", path, errno);
  }
  ~InputFd() { close(fd_); }
  InputFd(const InputFd&) = delete;
  InputFd& operator=(const InputFd&) = delete;

  // Bytes read, 0 at the end of the file.
  size_t Read(void* data, size_t bytes) {
    for (;;) {
      const ssize_t n = read(fd_, data, bytes);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) Fail("cannot read", path_, errno);
    }
  }

 private:
  std::string path_;
  int fd_;
};

}  // namespace

std::string ExplainErrno(int error) {
  const std::string text = std::strerror(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return text + " (free some space, or write to another folder)";
    case EACCES:
    case EPERM:
    case EROFS:
      return text + " (choose a folder that you may write to)";
    default:
      return text;
  }
}

std::string HashName(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

SyncedFile::SyncedFile(const std::string& path) : path_(path), hash_(nullptr, FreeHash) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) Fail("cannot create", path, errno);
  hash_.reset(XXH3_createState());
  XXH3_64bits_reset(hash_.get());
}

SyncedFile::~SyncedFile() {
  if (fd_ >= 0) close(fd_);
}

void SyncedFile::Write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  XXH3_64bits_update(hash_.get(), p, bytes);
  bytes_ += bytes;
  while (bytes > 0) {
    const ssize_t n = write(fd_, p, std::min(bytes, size_t{1} << 26));
    if (n < 0) {
      if (errno == EINTR) continue;
      Fail("cannot write", path_, errno);
    }
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

FileDigest SyncedFile::Finish() {
  if (fsync(fd_) != 0) Fail("cannot write", path_, errno);
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) Fail("cannot write", path_, errno);
  return {bytes_, XXH3_64bits_digest(hash_.get())};
}

FileDigest DigestFile(const std::string& path) {
  InputFd file(path);
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> hash(XXH3_createState(), FreeHash);
  XXH3_64bits_reset(hash.get());
  FileDigest digest;
  std::vector<char> buffer(size_t{1} << 20);
  while (const size_t n = file.Read(buffer.data(), buffer.size())) {
    XXH3_64bits_update(hash.get(), buffer.data(), n);
    digest.bytes += n;
  }
  digest.hash = XXH3_64bits_digest(hash.get());
  return digest;
}

void SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) Fail("cannot open the folder", path, errno);
  const int result = fsync(fd), error = errno;
  close(fd);
  // Some network file systems cannot sync folders and need not.
  if (result != 0 && error != EINVAL && error != ENOTSUP) {
    Fail("cannot write the folder", path, error);
  }
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) Fail("cannot create the folder", path, error.value());
  if (!fs::is_directory(path, error)) {
    ThrowUserError("cannot create the folder ", path, ": a file of that name is in the way");
  }
}

void Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    ThrowUserError("cannot rename ", from, " to ", to, ": ", ExplainErrno(errno));
  }
}

void RemoveFolder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) Fail("cannot remove", path, error.value());
}

std::vector<std::string> ListFolder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) Fail("cannot read the folder", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

uint64_t FreeBytes(const std::string& folder) {
  struct statvfs stats;
  if (statvfs(folder.c_str(), &stats) != 0) Fail("cannot look at", folder, errno);
  return static_cast<uint64_t>(stats.f_bavail) * stats.f_frsize;
}

}  // namespace gf

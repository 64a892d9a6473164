#include "core/file.h"

#include <fcntl.h>
#include <poll.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace gf {
namespace {

const char* Advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or write to another folder";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f), or write to another folder";
    case EACCES:
    case EPERM:
      return "check the rights of the file and of its folders";
    case EROFS:
      return "write to another folder";
    case EMFILE:
      return "raise the limit of this process on open files (ulimit -n)";
    case ENFILE:
      return "the system has too many open files; close some programs";
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EISDIR:
      return "name a file";
    case ENAMETOOLONG:
      return "choose a shorter name";
    case EIO:
    case ESTALE:
      return "check the disk or the network that it is mounted from";
    default:
      return nullptr;
  }
}

}  // namespace

std::string ExplainErrno(int error) {
  const char* const advice = Advice(error);
  const std::string text = std::strerror(error);
  return advice == nullptr ? text : StrCat(text, " (", advice, ")");
}

void ThrowFileError(const std::string& verb, const std::string& path, int error) {
  ThrowUserError("cannot ", verb, " ", path, ": ", ExplainErrno(error));
}

FileDescriptor OpenOrCreate(const std::string& path) {
  FileDescriptor descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) ThrowFileError("open", path, errno);
  return descriptor;
}

bool HasReader(int file) {
  pollfd event = {file, 0, 0};  // poll ignores -1
  return poll(&event, 1, 0) <= 0 || (event.revents & POLLERR) == 0;
}

InputFile::InputFile(const std::string& path)
    // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
    : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status;
  if (descriptor_.get() < 0 || fstat(descriptor_.get(), &status) != 0) {
    ThrowFileError("open", path, errno);
  }
  if (S_ISDIR(status.st_mode)) ThrowFileError("open", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    ThrowUserError("cannot open ", path, ": not a regular file, which is expected here");
  }
  size_ = status.st_size;
}

size_t InputFile::ReadAt(int64_t offset, void* to, size_t bytes) const {
  size_t got = 0;
  while (got < bytes) {
    const ssize_t n =
        pread(descriptor_.get(), static_cast<char*>(to) + got, bytes - got, offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowFileError("read", StrCat(path_, " at byte ", offset + got), errno);
    if (n == 0) break;
    got += n;
  }
  return got;
}

void InputFile::WillRead(int64_t offset, int64_t bytes) const {
  posix_fadvise(descriptor_.get(), offset, bytes, POSIX_FADV_WILLNEED);
}

std::string ReadSmallFile(const std::string& path, int64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    ThrowUserError(path, ": has ", file.size(), " bytes, expected at most ", limit);
  }
  std::string text(file.size(), '\0');
  text.resize(file.ReadAt(0, &text[0], text.size()));
  return text;
}

std::string ReadFileOrPipe(const std::string& path, int64_t limit) {
  const FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) ThrowFileError("open", path, errno);
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t n = read(descriptor.get(), block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowFileError("read", path, errno);
    if (n == 0) return text;
    text.append(block, n);
    if (static_cast<int64_t>(text.size()) > limit) {
      ThrowUserError(path, ": has more than ", limit, " bytes, which is the most expected here");
    }
  }
}

int64_t OpenFileLimit() {
  constexpr rlim_t kWanted = 1 << 16;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  if (limit.rlim_cur < kWanted) {
    struct rlimit raised = limit;
    raised.rlim_cur = std::min(kWanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int64_t>(std::min(limit.rlim_cur, kWanted));
}

bool HasEnding(const std::string& name, const std::string& ending) {
  return name.size() >= ending.size() &&
         strcasecmp(name.c_str() + name.size() - ending.size(), ending.c_str()) == 0;
}

}  // namespace gf

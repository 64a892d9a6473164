#include "core/file.h"

#include <fcntl.h>
#include <glob.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace gf {

InputFile::InputFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) ThrowUserError(path, ": cannot be opened: ", std::strerror(errno));
  struct stat status;
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd_);
    ThrowUserError(path, ": not a regular file");
  }
  size_ = status.st_size;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(other.fd_), size_(other.size_) {
  other.fd_ = -1;
}

size_t InputFile::ReadAt(int64_t offset, void* to, size_t bytes) const {
  size_t got = 0;
  while (got < bytes) {
    const ssize_t n = pread(fd_, static_cast<char*>(to) + got, bytes - got, offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowUserError(path_, ":", offset, ": cannot be read: ", std::strerror(errno));
    if (n == 0) break;
    got += n;
  }
  return got;
}

void InputFile::WillRead(int64_t offset, int64_t bytes) const {
  posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
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

OutputFile::OutputFile(const std::string& path) : path_(path) {
  file_ = std::fopen(path.c_str(), "wbe");
  if (!file_) Fail("created");
}

OutputFile::~OutputFile() {
  if (file_) std::fclose(file_);
}

void OutputFile::Write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_) != bytes) Fail("written");
}

void OutputFile::Close() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) Fail("written");
  FILE* file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0) Fail("written");
}

void OutputFile::Fail(const char* what) const {
  ThrowUserError(path_, ": cannot be ", what, ": ", std::strerror(errno));
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

std::vector<std::string> ExpandFiles(const std::string& source, const std::string& ending) {
  std::vector<std::string> files;
  if (IsFolder(source)) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(source, error), end; !error && it != end;
         it.increment(error)) {
      const std::string path = it->path().string();
      if (HasEnding(path, ending) && IsFile(path)) files.push_back(path);
    }
    if (error) ThrowUserError(source, ": cannot be listed: ", error.message());
    if (files.empty()) ThrowUserError(source, ": no file in this folder ends in ", ending);
  } else if (IsFile(source)) {
    files.push_back(source);
  } else {
    glob_t found;
    const int status = glob(source.c_str(), GLOB_ERR, nullptr, &found);
    if (status == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        if (IsFile(found.gl_pathv[i])) files.push_back(found.gl_pathv[i]);
      }
    }
    globfree(&found);
    if (files.empty()) ThrowUserError(source, ": no such file or folder, and no file matches it");
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool IsFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool HasEnding(const std::string& name, const std::string& ending) {
  return name.size() >= ending.size() &&
         strcasecmp(name.c_str() + name.size() - ending.size(), ending.c_str()) == 0;
}

std::string Printable(const std::string& text) {
  std::string result = text;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return result;
}

}  // namespace gf

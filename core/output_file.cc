#include "core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"

namespace gf {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
// Longer writes are cut: the system takes less than 2 GiB at once.
constexpr size_t kMostAtOnce = size_t{1} << 26;

// The target of a symbolic link, which need not exist; any other path as it is.
std::string Resolve(const std::string& path) {
  if (!IsLink(path)) return path;
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  if (!error) return target;
  const std::filesystem::path link(path);
  const std::filesystem::path next = std::filesystem::read_symlink(link, error);
  if (error) return path;
  return std::filesystem::weakly_canonical(link.parent_path() / next, error).string();
}

// Pipes, devices, and files that a process has open already (/dev/stdout) keep their identity.
bool CannotBeReplaced(const std::string& path) {
  for (const char* const open : {"/dev/std", "/dev/fd/", "/proc/"}) {
    if (path.rfind(open, 0) == 0) return true;
  }
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

OutputFile::OutputFile(const std::string& path, Mode mode) : OutputFile(path, mode, path) {}

OutputFile::OutputFile(const std::string& path, Mode mode, const std::string& shown)
    : shown_(shown),
      descriptor_(open(
          path.c_str(),
          O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Mode::kAppend ? O_APPEND : O_TRUNC), 0666)) {
  if (descriptor_.get() < 0) ThrowFileError("write", shown_, errno);
  buffer_.reserve(kBufferBytes);
}

void OutputFile::Write(const void* data, size_t bytes) {
  const char* const from = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBufferBytes) Flush();
  if (bytes > kBufferBytes) return WriteThrough(from, bytes);
  buffer_.insert(buffer_.end(), from, from + bytes);
}

void OutputFile::WriteThrough(const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(descriptor_.get(), data, std::min(bytes, kMostAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowFileError("write", shown_, errno);
    data += n;
    bytes -= static_cast<size_t>(n);
  }
}

void OutputFile::Flush() {
  WriteThrough(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void OutputFile::CloseWithoutSync() {
  Flush();
  if (close(descriptor_.Release()) != 0) ThrowFileError("write", shown_, errno);
}

void OutputFile::Close() {
  Flush();
  // EINVAL: pipes and devices have nothing to sync.
  if (fsync(descriptor_.get()) != 0 && errno != EINVAL) ThrowFileError("write", shown_, errno);
  if (close(descriptor_.Release()) != 0) ThrowFileError("write", shown_, errno);
}

void ReplaceFile(const std::string& path, const std::function<void(OutputFile*)>& writer,
                 Durability durability) {
  const bool sync = durability == Durability::kSynced;
  constexpr OutputFile::Mode kEmpty = OutputFile::Mode::kEmpty;
  if (CannotBeReplaced(path)) {
    OutputFile file(path);
    writer(&file);
    file.Close();
    return;
  }
  const std::string target = Resolve(path);
  const std::string temporary = StrCat(target, ".tmp-", getpid());
  try {
    OutputFile file(temporary, kEmpty, path);
    writer(&file);
    sync ? file.Close() : file.CloseWithoutSync();
    if (rename(temporary.c_str(), target.c_str()) != 0) ThrowFileError("write", path, errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  if (sync) SyncFolder(ParentFolder(target));
}

void ReplaceFile(const std::string& path, std::string_view text, Durability durability) {
  ReplaceFile(
      path, [&](OutputFile* file) { file->Write(text); }, durability);
}

void Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) ThrowFileError("rename", from + " to " + to, errno);
}

}  // namespace gf

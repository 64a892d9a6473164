#include "core/folder.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

// Calls visit(entry) for every entry that Iterator goes over.
template <typename Iterator, typename Visit>
void Walk(const std::string& path, const Visit& visit) {
  std::error_code error;
  for (Iterator it(path, error), end; !error && it != end; it.increment(error)) visit(*it);
  if (error) ThrowFileError("list the folder", path, error.value());
}

}  // namespace

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool IsFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool IsLink(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

bool Exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

std::string ParentFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<size_t>(slash, 1));
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) ThrowFileError("create the folder", path, error.value());
  if (!IsFolder(path)) {
    ThrowUserError("cannot create the folder ", path, ": a file of that name is in the way");
  }
}

void RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) ThrowFileError("remove", path, error.value());
}

void RemoveQuietly(const std::string& path) noexcept {
  try {
    RemoveAll(path);
  } catch (const std::exception&) {
  }
}

void SyncFolder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) ThrowFileError("open the folder", path, errno);
  // Some network file systems cannot sync folders and need not.
  if (fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    ThrowFileError("write the folder", path, errno);
  }
}

std::vector<std::string> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  Walk<fs::directory_iterator>(path, [&](const fs::directory_entry& entry) {
    names.push_back(entry.path().filename().string());
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> ListFilesBelow(const std::string& path) {
  std::vector<std::string> files;
  const size_t prefix = (fs::path(path) / "").string().size();
  Walk<fs::recursive_directory_iterator>(path, [&](const fs::directory_entry& entry) {
    std::error_code error;  // set for a link that leads nowhere
    const bool lost_link = entry.is_symlink(error) && !entry.exists(error);
    if (!lost_link && !entry.is_regular_file(error)) return;
    files.push_back(entry.path().string().substr(prefix));
  });
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> ExpandFiles(const std::string& source, const std::string& ending) {
  std::vector<std::string> files;
  if (IsFolder(source)) {
    for (const std::string& name : ListFolder(source)) {
      const std::string path = (fs::path(source) / name).string();
      if (HasEnding(path, ending) && IsFile(path)) files.push_back(path);
    }
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

uint64_t FreeBytes(const std::string& path) {
  struct statvfs stats;
  if (statvfs(path.c_str(), &stats) != 0) ThrowFileError("look at", path, errno);
  return static_cast<uint64_t>(stats.f_bavail) * stats.f_frsize;
}

}  // namespace gf

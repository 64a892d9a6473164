#include "core/folder_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/folder.h"
#include "core/output_file.h"

namespace gf {
namespace {

// Whether the open file still is what `path` names.
bool IsAt(int file, const std::string& path) {
  struct stat held, named;
  return fstat(file, &held) == 0 && stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

FileDescriptor LockFolder(const std::string& folder, double patience_s) {
  const std::string path = folder + "/" + kLockFile;
  FileDescriptor lock = OpenOrCreate(path);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::chrono::duration<double> patience(patience_s);
  constexpr std::chrono::seconds kSilence(2);
  bool told = false;
  for (;;) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      if (IsAt(lock.get(), path)) return lock;
      // The other run has removed the folder: the next round tries the new file.
      MakeFolders(folder);
      lock = OpenOrCreate(path);
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return FileDescriptor();
    }
    const auto waited = Clock::now() - start;
    if (!told && waited > kSilence) {
      PrintRemark(StrCat("waits up to ", patience_s, " s for another run that is using ", folder));
      told = true;
    }
    if (waited > patience) {
      ThrowUserError("another run is using ", folder,
                     ": wait until it has ended, or choose another folder");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace gf

#include "core/folder_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/output_file.h"

namespace gf {

FileDescriptor LockFolder(const std::string& folder, double patience_s) {
  FileDescriptor lock = OpenOrCreate(folder + "/.lock");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return FileDescriptor();
    if (std::chrono::steady_clock::now() > give_up) {
      ThrowUserError("another run is using ", folder,
                     ": wait until it has ended, or choose another folder");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return lock;
}

}  // namespace gf

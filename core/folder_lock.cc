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
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::chrono::duration<double> patience(patience_s);
  constexpr std::chrono::seconds kSilence(2);
  bool told = false;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return FileDescriptor();
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
  return lock;
}

}  // namespace gf

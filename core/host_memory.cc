#include "core/host_memory.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace gf {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number in a file of one number; unlimited for "max", and where the file is missing.
double LimitIn(const char* path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : kUnlimited;
}

}  // namespace

double HostMemory() {
  double bytes = kUnlimited;
  struct sysinfo host;
  if (sysinfo(&host) == 0) {
    bytes =
        (static_cast<double>(host.totalram) + static_cast<double>(host.totalswap)) * host.mem_unit;
  }
  struct rlimit addresses;
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    bytes = std::min(bytes, static_cast<double>(addresses.rlim_cur));
  }
  // A container sees its own group as the root.
  bytes = std::min(bytes, LimitIn("/sys/fs/cgroup/memory.max"));
  return std::min(bytes, LimitIn("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

}  // namespace gf

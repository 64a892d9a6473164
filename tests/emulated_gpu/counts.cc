#include "tests/emulated_gpu/counts.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace gf::emulated {
namespace {

std::mutex mutex;
Counts counts;  // under the mutex

const bool printed_at_end = [] {
  if (std::getenv("GF_EMULATED_COUNTS") == nullptr) return false;
  return std::atexit([] {
           std::fprintf(stderr, "emulated GPU: %" PRId64 " host waits\n", Now().host_waits);
         }) == 0;
}();

}  // namespace

Counts Now() {
  const std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

void Count(int64_t Counts::*field) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++(counts.*field);
}

}  // namespace gf::emulated

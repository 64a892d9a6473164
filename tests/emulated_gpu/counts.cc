#include "tests/emulated_gpu/counts.h"

#include <mutex>

namespace gf::emulated {
namespace {

std::mutex mutex;
Counts counts;  // under the mutex

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

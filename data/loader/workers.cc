#include "data/loader/workers.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gf {

int AvailableProcessors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return 1;
  return std::max(1, CPU_COUNT(&processors));
}

void RunWorkers(int workers, int64_t count, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
  int64_t error_number = 0;
  const auto work = [&] {
    while (!failed) {
      const int64_t i = next.fetch_add(1);
      if (i >= count) return;
      try {
        body(i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!error || i < error_number) {
          error = std::current_exception();
          error_number = i;
        }
        failed = true;
      }
    }
  };
  const int64_t wanted = std::min<int64_t>(workers > 0 ? workers : AvailableProcessors(), count);
  std::vector<std::thread> threads;
  try {
    for (int64_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads: those that run do the work
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace gf

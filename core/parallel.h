#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#ifdef __SANITIZE_THREAD__
#include <thread>
#include <vector>
#endif

namespace gf {

// Splits [0, n) into one contiguous range per compute thread and calls body(begin, end) for each
// range in parallel. Ranges start at multiples of `grain`. The compute threads are OpenMP threads,
// which oneDNN uses too. The split depends only on n, grain and the number of threads.
template <typename Body>
void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  const int64_t pieces = (n + grain - 1) / grain;
  const int threads =
      static_cast<int>(std::min<int64_t>(std::max<int64_t>(pieces, 1), omp_get_max_threads()));
  if (threads == 1) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  const auto run = [&](int64_t thread, int64_t count) {
    const int64_t begin = pieces * thread / count * grain;
    const int64_t end = std::min(n, pieces * (thread + 1) / count * grain);
    if (begin < end) body(begin, end);
  };
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer does not understand the synchronization of OpenMP threads.
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread, threads);
  run(0, threads);
  for (std::thread& other : others) other.join();
#else
#pragma omp parallel num_threads(threads)
  run(omp_get_thread_num(), omp_get_num_threads());
#endif
}

// Splits [0, n) into ranges of `grain` numbers and calls body(thread, begin, end) for each of them.
// Each of at most `threads` compute threads takes the next range as soon as it is free, so that a
// slow core does less: results must not depend on which thread computes a range. `thread` is its
// number, from 0 on.
template <typename Body>
void ParallelForFree(int threads, int64_t n, int64_t grain, const Body& body) {
  std::atomic<int64_t> next{0};
  ParallelFor(std::min<int64_t>((n + grain - 1) / grain, threads), 1,
              [&](int64_t first, int64_t last) {
                for (int64_t thread = first; thread < last; ++thread) {
                  for (int64_t begin; (begin = next.fetch_add(grain)) < n;) {
                    body(thread, begin, std::min(begin + grain, n));
                  }
                }
              });
}

}  // namespace gf

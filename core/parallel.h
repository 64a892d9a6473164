#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace gf {

// Splits [0, n) into one contiguous range per compute thread and calls body(begin, end) for
// each, in parallel; ranges start at multiples of `grain`. The compute threads are OpenMP's,
// which oneDNN uses too. The split depends on n, grain and the number of threads only.
template <typename Body>
void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  const int64_t pieces = (n + grain - 1) / grain;
  const int threads =
      static_cast<int>(std::min<int64_t>(std::max<int64_t>(pieces, 1), omp_get_max_threads()));
  if (threads == 1) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t thread = omp_get_thread_num(), count = omp_get_num_threads();
    const int64_t begin = pieces * thread / count * grain;
    const int64_t end = std::min(n, pieces * (thread + 1) / count * grain);
    if (begin < end) body(begin, end);
  }
}

}  // namespace gf

#include "solvers/train/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gf {

int SetComputeThreads(int configured, Communicator* comm) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int processors = omp_get_num_procs();
  std::string allowed;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    processors = CPU_COUNT(&mask);
    for (int i = 0; i < CPU_SETSIZE; ++i) allowed += CPU_ISSET(i, &mask) ? '1' : '0';
  }
  const std::string mine = comm->host() + " " + allowed;
  const std::vector<std::string> all = comm->AllGather(mine, "sharing out the processors");
  const int sharers = static_cast<int>(std::count(all.begin(), all.end(), mine));
  const int threads = configured > 0 ? configured : std::max(1, processors / sharers);
  omp_set_num_threads(threads);
  return threads;
}

}  // namespace gf

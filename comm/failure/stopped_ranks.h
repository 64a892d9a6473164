#pragma once

#include <string>

namespace gf {

// Ranks of this job that are stopped (SIGSTOP, a debugger) on this host, in words: "; stopped on
// this host: rank 2 (process 4711)"; empty if there are none that this process may see. Asks
// nobody, so it works while MPI starts or hangs.
std::string StoppedRanks();

// This process's rank as the launcher gave it, before MPI has started; -1 if it did not.
int LaunchedRank();

}  // namespace gf

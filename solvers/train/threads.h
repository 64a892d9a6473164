#pragma once

#include "comm/communicator.h"

namespace gf {

// Compute threads of this rank: `configured`, or (0) the processors that this process may use,
// shared out among the ranks of its host that may use the same ones. Sets OpenMP's number.
// Called by all ranks.
int SetComputeThreads(int configured, Communicator* comm);

}  // namespace gf

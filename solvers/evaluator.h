#pragma once

#include "comm/communicator.h"
#include "data/loader.h"
#include "models/net.h"
#include "solvers/tally.h"

namespace gf {

// Runs a TEST net over all of a loader's data, each image once whatever the number of ranks,
// and returns the counts of all ranks. The loader stands at its start before and after.
Tally Evaluate(Net* net, Loader* loader, Communicator* comm);

}  // namespace gf

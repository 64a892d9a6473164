#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// A world of threads in one process, for tests: one communicator per rank, each to be used by
// its own thread. `hosts` are the ranks' host names.
std::vector<std::unique_ptr<Communicator>> NewLocalCommunicators(
    const std::vector<std::string>& hosts, double timeout_s);

// Runs body(communicator) on `size` ranks, all on host "local"; each has a thread and a
// communication thread. If a body throws, the other ranks' collectives end at once with a CommError
// and the first exception is rethrown.
void RunLocal(int size, double timeout_s, const std::function<void(Communicator*)>& body);
// The same on these hosts, one per rank.
void RunLocal(const std::vector<std::string>& hosts, double timeout_s,
              const std::function<void(Communicator*)>& body);

}  // namespace gf

#pragma once

#include <functional>

#include "comm/communicator.h"

namespace gf {

// Sets up logging: warnings and errors of all ranks to standard error, no files.
void InitLogging(const char* program);

// Runs a tool's body on the ranks that mpirun started and ends MPI properly. An error that all
// ranks agree on is printed once; one rank's own error ends the job. Returns the exit code.
// `timeout_s`: the deadline of every wait for other ranks.
int RunOnRanks(int* argc, char*** argv, double timeout_s,
               const std::function<int(Communicator*)>& body);

}  // namespace gf

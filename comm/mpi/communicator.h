#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gf {

// The ranks that mpirun started. Initializes MPI; once per process. Throws UserError if the
// launcher belongs to another MPI, so that every process would be a world of its own.
std::unique_ptr<Communicator> NewMpiCommunicator(int* argc, char*** argv, double timeout_s);

}  // namespace gf

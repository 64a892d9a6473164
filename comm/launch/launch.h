#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gf {

// Whether mpirun or srun has started this process.
bool IsRankOfJob();

// This process's communicator: MPI with a communication thread if it was started by mpirun (or
// srun) with more than one rank, otherwise a world of one that never touches MPI. `timeout_s`:
// the deadline of every collective, seconds. Throws CommError if MPI finds another number of ranks
// than mpirun has started.
std::unique_ptr<Communicator> NewCommunicator(int* argc, char*** argv, double timeout_s);

}  // namespace gf

#include "comm/launch/launch.h"

#include <cstdlib>
#include <string>

#include "comm/mpi/communicator.h"
#include "comm/single.h"
#include "comm/threaded.h"
#include "core/error.h"

namespace gf {

namespace {

// Note [Ranks without mpirun]
// If mpirun is killed before a rank has reached MPI_Init, Open MPI 5 makes that rank a world of its
// own. It would train alone, in the folders of the job that is started next.
std::unique_ptr<Communicator> WholeWorld(std::unique_ptr<Communicator> comm, const char* ranks) {
  if (ranks != nullptr && std::to_string(comm->size()) != ranks) {
    throw CommError(StrCat("mpirun started this process as one of ", ranks,
                           " ranks, but MPI finds ", comm->size(),
                           ": mpirun has probably ended; start the job again"));
  }
  return comm;
}

}  // namespace

bool IsRankOfJob() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_SIZE") != nullptr;
}

std::unique_ptr<Communicator> NewCommunicator(int* argc, char*** argv, double timeout_s) {
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const bool alone = ranks != nullptr && std::string(ranks) == "1";
  if (!IsRankOfJob() || alone) return NewSingleCommunicator();
  return NewThreadedCommunicator(
      [=] { return WholeWorld(NewMpiCommunicator(argc, argv, timeout_s), ranks); }, timeout_s);
}

}  // namespace gf

#include "comm/launch/launch.h"

#include <cstdlib>
#include <string>

#include "comm/mpi/communicator.h"
#include "comm/single.h"
#include "comm/threaded.h"

namespace gf {

std::unique_ptr<Communicator> NewCommunicator(int* argc, char*** argv, double timeout_s) {
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const bool launched =
      ranks != nullptr || std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_SIZE") != nullptr;
  const bool alone = ranks != nullptr && std::string(ranks) == "1";
  if (!launched || alone) return NewSingleCommunicator();
  return NewThreadedCommunicator([=] { return NewMpiCommunicator(argc, argv, timeout_s); },
                                 timeout_s);
}

}  // namespace gf

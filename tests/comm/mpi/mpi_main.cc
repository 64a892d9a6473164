#include "tests/comm/mpi/mpi_main.h"

#include <gtest/gtest.h>

#include "comm/launch/launch.h"

namespace gf {

Communicator* comm = nullptr;

}  // namespace gf

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto world = gf::NewCommunicator(&argc, &argv, 100);
  gf::comm = world.get();
  const int result = RUN_ALL_TESTS();
  world->Finalize();
  return result;
}

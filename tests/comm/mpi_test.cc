// What the MPI communicator promises, as one of the ranks that mpirun started.
#include <gtest/gtest.h>

#include "tests/comm/communicator_checks.h"
#include "tests/comm/gradient_flow_checks.h"

namespace gf {
namespace {

Communicator* comm = nullptr;

TEST(MpiTest, KnowsItsRanks) {
  int64_t ranks = 1;
  comm->AllReduce(&ranks, 1, ReduceOp::kSum, "ranks");
  EXPECT_EQ(ranks, comm->size());
  // All on this machine.
  EXPECT_EQ(comm->local_rank(), comm->rank());
  EXPECT_EQ(comm->local_size(), comm->size());
  EXPECT_EQ(comm->host(), HostName());
}

TEST(MpiTest, SumsAreExact) { CheckExactSums(comm); }
TEST(MpiTest, AllRanksGetTheSameBits) { CheckSameBits(comm); }
TEST(MpiTest, CountersAreExact) { CheckCounters(comm); }
TEST(MpiTest, AllGatherBringsEveryString) { CheckAllGather(comm); }
TEST(MpiTest, BroadcastBringsTheRootsBytes) { CheckBroadcast(comm); }

TEST(MpiTest, PerTensorSumsEveryEntryExactlyOnce) {
  CheckSumsOnce("PER_TENSOR", DType::kFP32, comm);
  CheckSumsOnce("PER_TENSOR", DType::kBF16, comm);
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto world = gf::NewCommunicator(&argc, &argv, 100);
  gf::comm = world.get();
  const int result = RUN_ALL_TESTS();
  world->Finalize();
  return result;
}

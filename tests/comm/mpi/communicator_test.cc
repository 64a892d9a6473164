// What the MPI communicator promises, as one of the ranks that mpirun started.
#include <gtest/gtest.h>

#include "comm/flow/tuner.h"
#include "tests/comm/collective_checks.h"
#include "tests/comm/communicator_checks.h"
#include "tests/comm/flow/gradient_flow_checks.h"
#include "tests/comm/mpi/mpi_main.h"

namespace gf {
namespace {

TEST(MpiTest, KnowsItsRanks) {
  int64_t ranks = 1;
  comm->AllReduce(&ranks, 1, ReduceOp::kSum, "ranks");
  EXPECT_EQ(ranks, comm->size());
  EXPECT_EQ(comm->host(), HostName());
}

TEST(MpiTest, SumsAreExact) { CheckExactSums(comm); }
TEST(MpiTest, AllRanksGetTheSameBits) { CheckSameBits(comm); }
TEST(MpiTest, CountersAreExact) { CheckCounters(comm); }
TEST(MpiTest, AllGatherBringsEveryString) { CheckAllGather(comm); }
TEST(MpiTest, BroadcastBringsTheRootsBytes) { CheckBroadcast(comm); }
TEST(MpiTest, TransferReachesOneRankOnly) { CheckTransfer(comm); }

TEST(MpiTest, EveryAlgorithmSumsExactlyAndAlikeOnAllRanks) {
  CheckCollectives({0, 1, 2, 10, 1000, 32001, 1 << 20}, comm);
}

TEST(MpiTest, DenseModesSumEveryEntryExactlyOnce) { CheckDenseModes(comm); }

TEST(MpiTest, AutomaticChoiceAgreesOnAllRanks) {
  GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
  options.config.set_algorithm("auto");
  CheckSumsOnce(options, DType::kFP32, comm);
  AlgorithmChoice choice(options.config, false, comm);
  choice.Measure(1 << 20, DType::kFP32, DType::kBF16, comm);
  for (const std::string& other : comm->AllGather(choice.Describe(), "choice")) {
    EXPECT_EQ(other, choice.Describe());
  }
}

}  // namespace
}  // namespace gf

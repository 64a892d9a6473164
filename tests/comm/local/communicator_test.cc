#include "comm/local/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "comm/launch/launch.h"
#include "core/error.h"
#include "tests/comm/communicator_checks.h"

namespace gf {
namespace {

class LocalTest : public testing::TestWithParam<int> {};

TEST_P(LocalTest, KeepsEveryPromise) { RunLocal(GetParam(), 60, CheckEverything); }

INSTANTIATE_TEST_SUITE_P(Ranks, LocalTest, testing::Values(1, 2, 3, 4, 7));

TEST(CommunicatorTest, WithoutMpirunTheWorldIsOne) {
  int argc = 0;
  char** argv = nullptr;
  const auto comm = NewCommunicator(&argc, &argv, 60);
  EXPECT_EQ(comm->rank(), 0);
  EXPECT_EQ(comm->size(), 1);
  EXPECT_EQ(comm->host(), HostName());
  CheckEverything(comm.get());
  comm->Finalize();
}

TEST(CommunicatorTest, RanksKnowTheirNumberAndHost) {
  const auto ranks = NewLocalCommunicators({"a", "b", "a", "b", "a"}, 60);
  for (int r = 0; r < 5; ++r) {
    EXPECT_EQ(ranks[r]->rank(), r);
    EXPECT_EQ(ranks[r]->size(), 5);
  }
  EXPECT_EQ(ranks[3]->host(), "b");
}

TEST(CommunicatorTest, ListsOfRanksAreShort) {
  EXPECT_EQ(RankList({3}), "rank 3");
  EXPECT_EQ(RankList({3, 4}), "ranks 3, 4");
  EXPECT_EQ(RankList({0, 1, 2, 5, 7, 8, 9}), "ranks 0-2, 5, 7-9");
}

TEST(LocalTest, ARankThatDoesNotComeIsNamedWithinTheDeadline) {
  std::atomic<int> failed{0};
  const auto start = std::chrono::steady_clock::now();
  RunLocal(3, 0.3, [&](Communicator* comm) {
    if (comm->rank() == 1) return;
    float value = 1;
    try {
      comm->AllReduceSum(&value, 1, DType::kFP32, "fc6.weight, step 12");
      ADD_FAILURE() << "no exception";
    } catch (const CommError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find("allreduce of fc6.weight, step 12"), std::string::npos) << message;
      EXPECT_NE(message.find("missing: rank 1"), std::string::npos) << message;
      ++failed;
    }
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(failed, 2);
  EXPECT_GE(seconds.count(), 0.3);
  EXPECT_LT(seconds.count(), 5);
}

TEST(LocalTest, AFailureOfOneRankEndsTheOthersAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  try {
    RunLocal(3, 60, [&](Communicator* comm) {
      if (comm->rank() == 2) throw UserError("broken");
      comm->Barrier("forever");
    });
    ADD_FAILURE() << "no exception";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "broken");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 10);
}

}  // namespace
}  // namespace gf

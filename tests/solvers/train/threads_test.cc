#include "solvers/train/threads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "comm/local/communicator.h"

namespace gf {
namespace {

TEST(ThreadsTest, RanksOfAHostShareItsProcessors) {
  int alone = 0;
  RunLocal(1, 20, [&](Communicator* comm) { alone = SetComputeThreads(0, comm); });
  RunLocal(2, 20, [&](Communicator* comm) {
    EXPECT_EQ(SetComputeThreads(0, comm), std::max(1, alone / 2));
    EXPECT_EQ(SetComputeThreads(3, comm), 3);
  });
  RunLocal(64, 60, [](Communicator* comm) { EXPECT_GE(SetComputeThreads(0, comm), 1); });
}

}  // namespace
}  // namespace gf

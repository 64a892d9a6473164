#include "tools/rank_main.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>

#include "comm/agree.h"
#include "comm/local/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

TEST(ComputeThreadsTest, RanksOfAHostShareItsProcessors) {
  int alone = 0;
  RunLocal(1, 20, [&](Communicator* comm) { alone = SetComputeThreads(0, comm); });
  RunLocal(2, 20, [&](Communicator* comm) {
    EXPECT_EQ(SetComputeThreads(0, comm), std::max(1, alone / 2));
    EXPECT_EQ(SetComputeThreads(3, comm), 3);
  });
  RunLocal(64, 60, [](Communicator* comm) { EXPECT_GE(SetComputeThreads(0, comm), 1); });
}

int RunAlone(const std::function<int(Communicator*)>& body) {
  int argc = 0;
  char** argv = nullptr;
  return RunOnRanks(&argc, &argv, 20, body);
}

TEST(RunOnRanksTest, ReturnsTheBodysExitCode) {
  EXPECT_EQ(RunAlone([](Communicator*) { return 7; }), 7);
}

TEST(RunOnRanksTest, AnAgreedErrorIsPrintedOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunAlone([](Communicator*) -> int { throw AgreedError("wrong"); }), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) + ": error: wrong\n");
}

TEST(RunOnRanksTest, WithoutOtherRanksAnyOtherErrorIsLeftToRunMain) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(RunAlone([](Communicator*) -> int { throw UserError("u"); }), UserError);
  EXPECT_THROW(RunAlone([](Communicator*) -> int { throw CommError("c"); }), CommError);
  EXPECT_THROW(RunAlone([](Communicator*) -> int { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace gf

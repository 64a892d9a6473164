#include "comm/agree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "comm/local/communicator.h"

namespace gf {
namespace {

std::string MessageOnAllRanks(int size, const std::function<void(Communicator*)>& body) {
  std::string message;
  RunLocal(size, 20, [&](Communicator* comm) {
    try {
      body(comm);
      ADD_FAILURE() << "rank " << comm->rank() << " did not notice";
    } catch (const AgreedError& e) {
      if (comm->rank() == 0) message = e.what();
    }
  });
  return message;
}

TEST(AgreeOnErrorsTest, AMistakeOfOneRankStopsAllAndNamesIt) {
  EXPECT_EQ(MessageOnAllRanks(3,
                              [](Communicator* comm) {
                                AgreeOnErrors(comm, "test", [&] {
                                  if (comm->rank() == 1) ThrowUserError("bad");
                                });
                              }),
            "bad [on rank 1]");
}

TEST(AgreeOnErrorsTest, TheSameMistakeOfAllRanksIsToldOnce) {
  EXPECT_EQ(MessageOnAllRanks(3,
                              [](Communicator* comm) {
                                AgreeOnErrors(comm, "test", [] { ThrowUserError("bad"); });
                              }),
            "bad");
}

TEST(AgreeOnErrorsTest, MissingMemoryOfOneRankStopsAll) {
  const std::string message = MessageOnAllRanks(2, [](Communicator* comm) {
    AgreeOnErrors(comm, "test", [&] {
      if (comm->rank() == 1) throw std::bad_alloc();
    });
  });
  EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
}

TEST(AgreeOnErrorsTest, WithoutMistakesAllGoOn) {
  std::atomic<int> ran{0};
  RunLocal(3, 20, [&](Communicator* comm) { AgreeOnErrors(comm, "test", [&] { ++ran; }); });
  EXPECT_EQ(ran, 3);
}

TEST(RunOnRankZeroTest, OthersWaitLongerThanTheDeadline) {
  std::atomic<int> ran{0};
  RunLocal(3, 1, [&](Communicator* comm) {
    RunOnRankZero(comm, "test", [&] {
      usleep(2500000);
      ++ran;
      EXPECT_EQ(comm->rank(), 0);
    });
    EXPECT_EQ(ran, 1);
  });
}

TEST(RunOnRankZeroTest, ItsMistakeStopsAll) {
  const std::string message = MessageOnAllRanks(2, [](Communicator* comm) {
    RunOnRankZero(comm, "test", [] { ThrowUserError("disk full"); });
  });
  EXPECT_NE(message.find("disk full"), std::string::npos) << message;
}

}  // namespace
}  // namespace gf

#include "comm/mpi/missing_ranks.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

const std::vector<std::string> kHosts = {"a", "a", "b", "b"};

RankState In(const std::string& operation, int64_t sequence) {
  return {true, false, sequence, operation};
}

// Four ranks in operation 7, a sum.
std::vector<RankState> AllTogether() { return std::vector<RankState>(4, In("sum", 7)); }

TEST(MissingRanksTest, SilentRanksAloneAreNamed) {
  auto states = AllTogether();
  states[1] = {true, true, 6, "step 3"};
  states[2] = {};
  const std::string why = WhyNobodyComes(states, 0, kHosts);
  EXPECT_EQ(why.rfind("missing: rank 2 (host b)", 0), 0u) << why;
  EXPECT_EQ(why.find("rank 1"), std::string::npos) << why;
}

TEST(MissingRanksTest, ThisRankIsNotMissing) {
  auto states = AllTogether();
  states[0].answered = false;
  states[3] = {true, true, 6, ""};
  EXPECT_EQ(WhyNobodyComes(states, 0, kHosts), "missing: rank 3 (host b)");
}

TEST(MissingRanksTest, BusyRanksAreNamedWithWhatTheyDo) {
  auto states = AllTogether();
  states[1] = {true, true, 6, "step 3"};
  states[2] = In("another sum", 8);
  EXPECT_EQ(WhyNobodyComes(states, 0, kHosts), "missing: rank 1 (host a) (busy with step 3)");
}

TEST(MissingRanksTest, RanksInOtherOperationsAreOutOfStepTheFewestFirst) {
  auto states = AllTogether();
  states[2] = In("barrier", 8);
  EXPECT_EQ(WhyNobodyComes(states, 0, kHosts),
            "out of step: rank 2 (host b) waits in barrier; ranks 0, 1, 3 wait in sum");
  // An operation of the same name, but a later one.
  states[2] = In("sum", 8);
  EXPECT_EQ(WhyNobodyComes(states, 0, kHosts), "out of step: ranks 0-3 wait in sum");
}

TEST(MissingRanksTest, RanksThatAllWaitInOneOperationBlameTheNetwork) {
  EXPECT_EQ(WhyNobodyComes(AllTogether(), 0, kHosts),
            "all ranks wait there: the network between them is stuck");
}

TEST(MissingRanksTest, NoMoreThanEightAreNamed) {
  const std::string names = NamesOfRanks({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {});
  EXPECT_EQ(names, "rank 0, rank 1, rank 2, rank 3, rank 4, rank 5, rank 6, rank 7 and 2 more");
}

}  // namespace
}  // namespace gf

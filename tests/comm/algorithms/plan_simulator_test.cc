// The judge is judged: every fault that plans can have is seen.
#include "tests/comm/algorithms/plan_simulator.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

Simulation RunSteps(int parts, const std::vector<std::vector<PlanStep>>& steps,
                    bool rendezvous = true) {
  std::vector<Plan> plans;
  for (const auto& s : steps) plans.push_back({parts, s});
  return Simulate(plans, OwnValues(static_cast<int>(steps.size()), parts), rendezvous);
}

PlanStep Send(int to, PartRange range = {0, 1}) { return {to, range, -1, {}, false}; }
PlanStep Receive(int from, bool reduce, PartRange range = {0, 1}) {
  return {-1, {}, from, range, reduce};
}
PlanStep Exchange(int with) { return {with, {0, 1}, with, {0, 1}, true}; }

TEST(PlanSimulatorTest, ExchangedSumsAreEqual) {
  const Simulation run = RunSteps(1, {{Exchange(1)}, {Exchange(0)}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.time, 1);
  EXPECT_EQ(run.state[0][0].contributions, (std::vector<int>{1, 1}));
  EXPECT_EQ(run.state[0][0].expression, run.state[1][0].expression);
}

TEST(PlanSimulatorTest, OrderOfAdditionShows) {
  const Simulation left = RunSteps(1, {{Receive(1, true), Receive(2, true)}, {Send(0)}, {Send(0)}});
  const Simulation right =
      RunSteps(1, {{Receive(2, true), Receive(1, true)}, {Send(0)}, {Send(0)}});
  EXPECT_EQ(left.state[0][0].contributions, right.state[0][0].contributions);
  EXPECT_NE(left.state[0][0].expression, right.state[0][0].expression);
}

TEST(PlanSimulatorTest, RoundingAtOneEndOnlyShows) {
  // Ranks 0 and 1 know the sum; rank 0 sends it on and so rounds it, rank 1 does not.
  const Simulation run = RunSteps(1, {{Exchange(1), Send(2)}, {Exchange(0)}, {Receive(0, false)}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.state[0][0].expression, run.state[2][0].expression);
  EXPECT_NE(run.state[0][0].expression, run.state[1][0].expression);
}

TEST(PlanSimulatorTest, ContributionsAreCounted) {
  const Simulation run = RunSteps(1, {{Receive(1, true), Receive(1, true)}, {Send(0), Send(0)}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.state[0][0].contributions, (std::vector<int>{1, 2}));
}

TEST(PlanSimulatorTest, MessagesLeaveBeforeTheStepChangesTheValues) {
  const Simulation run =
      RunSteps(1, {{{1, {0, 1}, 2, {0, 1}, true}}, {Receive(0, false)}, {Send(0)}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.state[1][0].contributions, (std::vector<int>{1, 0, 0}));
}

TEST(PlanSimulatorTest, WaitingForEachOtherIsFound) {
  const auto receive_first = [](bool rendezvous) {
    return RunSteps(1, {{Receive(1, true), Send(1)}, {Receive(0, true), Send(0)}}, rendezvous)
        .error;
  };
  EXPECT_NE(receive_first(true), "");
  EXPECT_NE(receive_first(false), "");
  const auto send_first = [](bool rendezvous) {
    return RunSteps(1, {{Send(1), Receive(1, true)}, {Send(0), Receive(0, true)}}, rendezvous)
        .error;
  };
  EXPECT_NE(send_first(true), "");
  EXPECT_EQ(send_first(false), "");
}

TEST(PlanSimulatorTest, MissingReceiveIsFound) {
  EXPECT_NE(RunSteps(1, {{Send(1)}, {}}, /*rendezvous=*/false).error, "");
}

TEST(PlanSimulatorTest, DifferentRangesAreFound) {
  EXPECT_NE(RunSteps(2, {{Send(1, {0, 2})}, {Receive(0, true, {0, 1})}}).error, "");
  EXPECT_NE(RunSteps(2, {{Send(1, {0, 3})}, {Receive(0, true, {0, 3})}}).error, "");
  EXPECT_NE(RunSteps(2, {{Send(1, {1, 1})}, {Receive(0, true, {1, 1})}}).error, "");
}

TEST(PlanSimulatorTest, ReplacingWhatIsSentIsFound) {
  const PlanStep swap = {1, {0, 1}, 1, {0, 1}, false}, back = {0, {0, 1}, 0, {0, 1}, false};
  EXPECT_NE(RunSteps(1, {{swap}, {back}}).error, "");
}

TEST(PlanSimulatorTest, TimeIsThatOfTheLongestChain) {
  // 2 -> 1 -> 0, while 3 -> 0 at once.
  const Simulation run = RunSteps(
      1, {{Receive(3, true), Receive(1, true)}, {Receive(2, true), Send(0)}, {Send(1)}, {Send(0)}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.time, 2);
}

}  // namespace
}  // namespace gf

#include "comm/choice/step_notes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "comm/local/communicator.h"

namespace gf {
namespace {

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// The slowest rank counts, and of its steps the one that was disturbed least.
TEST(StepNotesTest, FactsAreTheSameOnAllRanksAndThoseOfTheSlowest) {
  std::vector<StepFacts> facts(2);
  RunLocal(2, 60, [&](Communicator* comm) {
    const double factor = comm->rank() == 1 ? 2 : 1;
    StepNotes notes(3);
    for (int step = 0; step < StepNotes::kSteps; ++step) {
      ASSERT_FALSE(notes.complete());
      EXPECT_EQ(notes.withholds(), step >= 2);
      Sleep(0.005 * factor);
      notes.Begin();
      const double disturbed = step == 2 ? 1 : 0;
      Sleep(0.01 * factor + disturbed);
      notes.Ready(1);
      Sleep(0.01 * factor);
      notes.Ready(1);
      notes.Ready(3);
      Sleep(step == 1 ? 0.02 * factor : 0.01 * factor);
      notes.BackwardEnded();
      notes.Updated(0.25 * (comm->rank() + 1));
      notes.Updated(0.25);
      notes.End(3.0 + step - comm->rank());
    }
    ASSERT_TRUE(notes.complete());
    Sleep(0.005 * factor);
    notes.Begin();
    facts[comm->rank()] = notes.Agree(comm);
  });
  const StepFacts& f = facts[0];
  EXPECT_EQ(f.ready, facts[1].ready);
  EXPECT_EQ(f.step, facts[1].step);
  ASSERT_EQ(f.ready.size(), 3u);
  // Sleeps take what they must, or longer.
  EXPECT_GE(f.ready[0], 0.02);
  EXPECT_LT(f.ready[0], 1);
  EXPECT_GE(f.ready[1], 0.04);
  EXPECT_EQ(f.ready[1], f.ready[2]);
  EXPECT_GE(f.end, 0.06);
  EXPECT_LT(f.end, 1);
  EXPECT_GE(f.end_beside, 0.08);
  EXPECT_EQ(f.update, 0.75) << "of the slower rank";
  EXPECT_FALSE(f.update_waits);
  EXPECT_GE(f.outside, 0.01);
  EXPECT_LT(f.outside, 0.25);
  EXPECT_EQ(f.transfer, 4) << "of the rank and step that waited least";
}

// Rank 0 updates after all sums have come: behind the end of the exchange.
TEST(StepNotesTest, AnUpdateThatWaitsIsNoOtherCompute) {
  constexpr double kUpdate = 0.1;
  StepFacts facts;
  RunLocal(2, 60, [&](Communicator* comm) {
    StepNotes notes(1);
    const bool waits = comm->rank() == 0;
    for (int step = 0; step <= StepNotes::kSteps; ++step) {
      Sleep(0.02 + (waits && step > 0 ? kUpdate : 0));
      notes.Begin();
      if (step == StepNotes::kSteps) break;
      notes.Ready(1);
      notes.BackwardEnded();
      if (!waits) notes.Updated(kUpdate);
      notes.End(1);
    }
    if (waits) facts = notes.Agree(comm);
    if (!waits) notes.Agree(comm);
  });
  EXPECT_TRUE(facts.update_waits);
  EXPECT_EQ(facts.update, kUpdate);
  EXPECT_GE(facts.outside, 0.019);
  EXPECT_LT(facts.outside, 0.02 + kUpdate);
}

}  // namespace
}  // namespace gf

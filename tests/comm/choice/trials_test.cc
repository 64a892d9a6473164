#include "comm/choice/trials.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

// Rungs "a", "b", ... with such steps and powers of thresholds; one of them was chosen.
ExchangeChoice Priced(const std::vector<std::pair<double, int>>& rungs, int chosen) {
  ExchangeChoice choice;
  choice.slower = 0.05;
  for (const auto& [step, power] : rungs) {
    PricedRung rung;
    rung.name = std::string(1, static_cast<char>('a' + choice.rungs.size()));
    rung.priced = step > 0;
    rung.step = step;
    rung.power = power;
    choice.rungs.push_back(rung);
  }
  choice.chosen = chosen;
  choice.noted = "a";
  choice.noted_step = 9;
  return choice;
}

// "a b/4": rungs and powers.
std::string Text(const std::vector<Trial>& trials) {
  std::string text;
  for (const Trial& trial : trials) {
    if (!text.empty()) text += ", ";
    text += FullName(std::string(1, static_cast<char>('a' + trial.rung)), trial.power);
  }
  return text;
}

TEST(TrialsTest, TheChosenRungIsTriedAgainstTheTwoFastest) {
  const double unpriced = 0;
  EXPECT_EQ(
      Text(TrialsOf(Priced({{9, 0}, {1.04, 0}, {1.02, 0}, {1.01, 0}, {1, 0}, {unpriced, 0}}, 1))),
      "b, d, e");
  // Also where the fastest is milder: it exposes more of its shorter compute.
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1, 0}, {1.02, 0}, {1.01, 0}}, 2))), "b, c, d");
  // The fastest itself has a rival, unless all others are far slower.
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1, 0}, {2.1, 0}, {2, 0}}, 1))), "b, d");
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1, 0}, {2.1, 0}, {2.2, 0}}, 1))), "");
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1, -1}, {2.1, 0}}, 1))), "b / 4, b");
}

TEST(TrialsTest, OtherThresholdsAreTriedAgainstTheDefaults) {
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1.02, -2}, {1, 1}, {1.01, 2}}, 1))),
            "b / 16, b, c * 4, c, d * 16");
  EXPECT_EQ(Text(TrialsOf(Priced({{9, 0}, {1.02, -2}, {1.03, 1}}, 1))), "b / 16, b, c * 4");
}

TEST(TrialsTest, NothingIsTriedWithoutDoubt) {
  // There is one rung.
  ExchangeChoice choice = Priced({{9, 0}}, 0);
  choice.noted_step = 20;
  EXPECT_EQ(Text(TrialsOf(choice)), "");
  // The noted steps have shown that the mildest rung is fast enough; or not.
  choice = Priced({{1.02, 0}, {1, 0}}, 0);
  choice.noted_step = 1.04;
  EXPECT_EQ(Text(TrialsOf(choice)), "");
  choice.noted_step = 1.06;
  EXPECT_EQ(Text(TrialsOf(choice)), "a, b");
}

TEST(TrialsTest, TheMildestOfTheFastIsTaken) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, 1.04}, {2, 0, 1}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
  EXPECT_EQ(choice.rungs[1].verdict, "taken: tried, 1040.0 ms");
  EXPECT_EQ(choice.rungs[2].verdict, "tried, 1000.0 ms");
  EXPECT_EQ(choice.rungs[1].tried, 1.04);
  EXPECT_EQ(choice.rungs[0].tried, 9) << "the noted steps";

  choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, 1.06}, {2, 0, 1}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
}

// The scatter of most trials is more than the difference. One disturbed step does not count.
TEST(TrialsTest, AStrongerRungDoesNotWinByNoise) {
  const auto taken = [](double mild, double scatter, double slower) {
    ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
    choice.slower = slower;
    ChooseTried({{1, 0, mild, 0.9}, {2, 0, 1, scatter}, {3, 0, 1.3, 1.3 * scatter}}, &choice);
    return choice.taken();
  };
  EXPECT_EQ(taken(1.09, 0.04, 0.05), "b") << "1.05 * 1.04 = 1.092";
  EXPECT_EQ(taken(1.10, 0.04, 0.05), "c");
  EXPECT_EQ(taken(1.10, 0, 0.05), "c");
  EXPECT_EQ(taken(1.57, 0.5, 0.05), "b") << "1.05 * 1.5 = 1.575: trials tell little";
  EXPECT_EQ(taken(1.58, 0.5, 0.05), "c");
  EXPECT_EQ(taken(1.01, 0, 0), "c");
  // With two trials the steadier one counts.
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, 1.08, 0.9}, {2, 0, 1, 0}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  EXPECT_EQ(choice.scatter, 0);
}

TEST(TrialsTest, TheNotedStepsAreATrial) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  choice.noted_step = 1.1;
  ChooseTried({{1, 0, 1.2}, {2, 0, 1.3}}, &choice);
  EXPECT_EQ(choice.taken(), "a");
  EXPECT_EQ(choice.rungs[0].verdict, "taken: first steps, 1100.0 ms");
}

// It exposes more, or it would have been the best by price.
TEST(TrialsTest, AMilderRungMustBeFasterThanTheBestByPrice) {
  ExchangeChoice choice = Priced({{9, 0}, {1, 0}, {1.01, 0}}, 2);
  ChooseTried({{1, 0, 1.02}, {2, 0, 1}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  choice = Priced({{9, 0}, {1, 0}, {1.01, 0}}, 2);
  ChooseTried({{1, 0, 1}, {2, 0, 1.02}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
}

TEST(TrialsTest, TheBetterThresholdsAreTaken) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, -2}, {1, 1}}, 1);
  ChooseTried({{1, -2, 1.2}, {1, 0, 1.04}, {2, 1, 1}, {2, 0, 1.1}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
  EXPECT_EQ(choice.rungs[1].verdict, "taken: tried, 1040.0 ms with the default thresholds");
  EXPECT_EQ(choice.rungs[2].power, 1);

  choice = Priced({{9, 0}, {1.02, -2}, {1, 1}}, 1);
  ChooseTried({{1, -2, 1.0}, {1, 0, 1.04}, {2, 1, 1}, {2, 0, 1.1}}, &choice);
  EXPECT_EQ(choice.taken(), "b / 16");
}

TEST(TrialsTest, AllRanksTryWhatRankZeroTries) {
  RunLocal(3, 60, [](Communicator* ranks) {
    std::vector<Trial> own = {{ranks->rank(), -1}, {5, 2}};
    if (ranks->rank() == 1) own.clear();
    EXPECT_EQ(Text(AgreeOnTrials(own, ranks)), "a / 4, f * 16");
    if (ranks->rank() == 0) own.clear();
    EXPECT_EQ(Text(AgreeOnTrials(own, ranks)), "");
  });
}

// The shortest step after the first counts, on the slowest rank; the next one makes its scatter.
TEST(TrialsTest, TheShortestStepCounts) {
  RunLocal(2, 60, [](Communicator* ranks) {
    TrialSteps steps({{1, 0}, {2, 0}});
    const double delays[] = {0.001, 0.3, 0.02, 0.1, 0.3, 0.06, 0.3, 0.3};
    int step = 0;
    for (; !steps.complete(); ++step) {
      const bool next = steps.Begin();
      EXPECT_EQ(next, step % kTrialSteps == 0) << step;
      if (steps.complete()) break;
      EXPECT_EQ(steps.current().rung, 1 + step / kTrialSteps);
      const double delay = delays[step] + 0.02 * ranks->rank();
      std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    }
    EXPECT_EQ(step, 2 * kTrialSteps);
    const std::vector<Trial> agreed = steps.Agree(ranks);
    EXPECT_GE(agreed[0].seconds, 0.04);
    EXPECT_LT(agreed[0].seconds, 0.3);
    EXPECT_GE(agreed[1].seconds, 0.08);
    EXPECT_LT(agreed[1].seconds, 0.3);
    EXPECT_GT(agreed[0].scatter, 0.04);
    EXPECT_GT(agreed[1].scatter, 0.15);
  });
}

}  // namespace
}  // namespace gf

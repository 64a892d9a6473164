#include "comm/choice/trials.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
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

TEST(TrialsTest, TheRungOfTheNotedStepsIsTriedUnlessItIsFarSlower) {
  ExchangeChoice choice = Priced({{3, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
  choice.noted_step = 2;
  EXPECT_EQ(Text(TrialsOf(choice)), "a, b, c, d");
  choice.noted_step = 2.1;
  EXPECT_EQ(Text(TrialsOf(choice)), "b, c, d");
  choice.noted = "d";  // the rival
  choice.noted_step = 1.1;
  EXPECT_EQ(Text(TrialsOf(choice)), "b, c, d");
  // With its own thresholds.
  choice = Priced({{3, 0}, {1.02, -2}, {1, 1}, {1.01, 2}}, 1);
  choice.noted = "d";
  choice.noted_step = 1.1;
  const std::vector<Trial> most = TrialsOf(choice);
  EXPECT_EQ(Text(most), "b / 16, b, c * 4, c, d * 16, d");
  EXPECT_EQ(most.size(), kMostTrials);
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
  ChooseTried({{1, 0, {1.04}}, {2, 0, {1}}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
  EXPECT_EQ(choice.rungs[1].verdict, "taken: tried, 1040.0 ms");
  EXPECT_EQ(choice.rungs[2].verdict, "tried, 1000.0 ms");
  EXPECT_EQ(choice.rungs[1].tried, 1.04);
  EXPECT_EQ(choice.rungs[0].tried, 0);

  choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, {1.06}}, {2, 0, {1}}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
}

// Three steps of `middle` and as much more and less as makes a scatter of `scatter`: normal noise
// with a standard deviation s has a median absolute deviation of s / 1.4826, and the median of n
// steps a standard error of s * sqrt(pi / 2 / n).
std::vector<double> Steps(double middle, double scatter) {
  const double deviation = scatter * middle / (1.4826 * std::sqrt(M_PI / 2) * std::sqrt(2 / 3.));
  return {middle - deviation, middle + deviation, middle};
}

// The scatter of most trials is more than the difference. One disturbed trial does not count.
TEST(TrialsTest, AStrongerRungDoesNotWinByNoise) {
  double found = 0;
  const auto taken = [&](double mild, double scatter, double slower) {
    ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
    choice.slower = slower;
    ChooseTried({{1, 0, Steps(mild, 0.9)}, {2, 0, Steps(1, scatter)}, {3, 0, Steps(1.3, scatter)}},
                &choice);
    found = choice.scatter;
    return choice.taken();
  };
  EXPECT_EQ(taken(1.09, 0.1, 0.05), "b");
  EXPECT_NEAR(found, 0.1, 1e-5);
  EXPECT_EQ(taken(1.11, 0.1, 0.05), "c");
  EXPECT_EQ(taken(1.04, 0.01, 0.05), "b") << "the larger limit counts, not both";
  EXPECT_EQ(taken(1.055, 0.01, 0.05), "c");
  EXPECT_EQ(taken(1.49, 0.5, 0.05), "b") << "trials tell little";
  EXPECT_EQ(taken(1.01, 0, 0), "c");
  // Of two trials the steadier one counts.
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, Steps(1.08, 0.9)}, {2, 0, Steps(1, 0)}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  EXPECT_EQ(choice.scatter, 0);
  // Trials with fewer steps do not count.
  const auto twice = [](std::vector<double> steps) {
    steps.insert(steps.end(), steps.begin(), steps.end());
    return steps;
  };
  choice = Priced({{9, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
  ChooseTried({{0, 0, Steps(2, 0.9)},
               {1, 0, twice(Steps(1.04, 0.1))},
               {2, 0, twice(Steps(1, 0.1))},
               {3, 0, Steps(1.9, 0.9)}},
              &choice);
  EXPECT_NEAR(choice.scatter, 0.1 / std::sqrt(2), 1e-5);
}

TEST(TrialsTest, ADisturbedStepDoesNotCount) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, {1.2, 9, 1.19, 1.21, 1.2}}, {2, 0, {1, 1.01, 0.99, 1, 7}}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  EXPECT_LT(choice.scatter, 0.02);
}

TEST(TrialsTest, TheMedianStepCounts) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}}, 1);
  ChooseTried({{1, 0, {0.5, 7, 1.2}}, {2, 0, {1.1, 1.1, 1.1}}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  EXPECT_EQ(choice.rungs[1].tried, 1.2);
}

TEST(TrialsTest, TrialsTakeAnotherTurnWhileTheirScatterDecides) {
  const ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
  const auto repeated = [&](double mild, double scatter) {
    return TrialsToRepeat(
        {{1, 0, Steps(mild, scatter)}, {2, 0, Steps(1, scatter)}, {3, 0, Steps(1.3, scatter)}},
        choice);
  };
  const std::vector<int> none, without_slow = {0, 1};
  EXPECT_EQ(repeated(1.04, 0.005), none) << "milder and within 5 %";
  EXPECT_EQ(repeated(1.04, 0.02), without_slow);
  EXPECT_EQ(repeated(1.06, 0.02), without_slow);
  EXPECT_EQ(repeated(1.08, 0.02), none) << "the mild rung is too slow";
  EXPECT_EQ(repeated(0.9, 0.04), none) << "the mild rung is the fastest";
  EXPECT_EQ(repeated(1.02, 0.2).size(), 3u) << "the slow rung may be fast";
  // One disturbed trial is enough.
  EXPECT_EQ(TrialsToRepeat({{1, 0, Steps(1.08, 0.3)}, {2, 0, Steps(1, 0)}}, choice), without_slow);
  // As often as trials may.
  std::vector<Trial> trials = {{1, 0, {}}, {2, 0, {}}};
  for (int turn = 1; turn <= kMostTurns; ++turn) {
    for (const double step : Steps(1.06, 0.1)) trials[0].seconds.push_back(step);
    for (const double step : Steps(1, 0.1)) trials[1].seconds.push_back(step);
    EXPECT_EQ(TrialsToRepeat(trials, choice).empty(), turn == kMostTurns) << turn;
  }
}

// It exposes more, or it would have been the best by price.
TEST(TrialsTest, AMilderRungMustBeFasterThanTheBestByPrice) {
  ExchangeChoice choice = Priced({{9, 0}, {1, 0}, {1.01, 0}}, 2);
  ChooseTried({{1, 0, {1.02}}, {2, 0, {1}}}, &choice);
  EXPECT_EQ(choice.taken(), "c");
  choice = Priced({{9, 0}, {1, 0}, {1.01, 0}}, 2);
  ChooseTried({{1, 0, {1}}, {2, 0, {1.02}}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
}

TEST(TrialsTest, TheBetterThresholdsAreTaken) {
  ExchangeChoice choice = Priced({{9, 0}, {1.02, -2}, {1, 1}}, 1);
  ChooseTried({{1, -2, {1.2}}, {1, 0, {1.04}}, {2, 1, {1}}, {2, 0, {1.1}}}, &choice);
  EXPECT_EQ(choice.taken(), "b");
  EXPECT_EQ(choice.rungs[1].verdict, "taken: tried, 1040.0 ms with the default thresholds");
  EXPECT_EQ(choice.rungs[2].power, 1);

  choice = Priced({{9, 0}, {1.02, -2}, {1, 1}}, 1);
  ChooseTried({{1, -2, {1.0}}, {1, 0, {1.04}}, {2, 1, {1}}, {2, 0, {1.1}}}, &choice);
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

// The first step of a trial does not count. The others count as the mean of all ranks. Rank 0
// decides which trials are repeated.
TEST(TrialsTest, TrialsTakeTurns) {
  RunLocal(2, 60, [](Communicator* ranks) {
    TrialSteps steps({{1, 0}, {2, 0}, {3, 0}});
    ExchangeChoice choice = Priced({{9, 0}, {1.02, 0}, {1, 0}, {1.01, 0}}, 1);
    if (ranks->rank() == 1) choice.slower = 1000;  // there the mildest rung is fast enough
    // Within the scatter the first is fast enough, but not the third.
    const double delays[][kTrialSteps] = {
        {0.3, 0.06, 0.26, 0.46}, {0.3, 0.4, 0.2, 0}, {0, 1.2, 1.2, 1.2}};
    std::vector<int> tried;
    int step = 0;
    for (; step <= 100; ++step) {
      const bool next = steps.Begin(choice, ranks);
      EXPECT_EQ(next, step % kTrialSteps == 0) << step;
      if (steps.complete()) break;
      const int rung = steps.current().rung;
      if (next) tried.push_back(rung);
      const double delay = delays[rung - 1][step % kTrialSteps] + 0.02 * ranks->rank();
      std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    }
    EXPECT_EQ(tried, (std::vector<int>{1, 2, 3, 1, 2, 1, 2}));
    EXPECT_EQ(step, kTrialSteps * static_cast<int>(tried.size()));
    ASSERT_EQ(steps.trials().size(), 3u);
    EXPECT_EQ(steps.trials()[0].seconds.size(), 9u);
    EXPECT_EQ(steps.trials()[2].seconds.size(), 3u);
    EXPECT_GE(steps.trials()[0].seconds[1], 0.27) << "the mean of both ranks";
    EXPECT_LT(steps.trials()[0].step(), 1);
    EXPECT_GE(steps.trials()[2].step(), 1.21);
  });
}

}  // namespace
}  // namespace gf

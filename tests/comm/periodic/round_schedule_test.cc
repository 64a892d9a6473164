#include "comm/periodic/round_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gf {
namespace {

PeriodicConfig Config(int steps, double warmup_fraction) {
  PeriodicConfig config;
  config.set_steps(steps);
  config.set_warmup_fraction(warmup_fraction);
  return config;
}

// The steps, from 0, after which rounds end.
std::vector<int64_t> Ends(const RoundSchedule& schedule, int64_t total) {
  std::vector<int64_t> ends;
  for (int64_t step = 0; step < total; ++step) {
    if (schedule.ends(step)) ends.push_back(step);
  }
  return ends;
}

TEST(RoundScheduleTest, WarmsUpThenRunsRoundsAndEndsWithTraining) {
  const RoundSchedule schedule(Config(4, 0.2), 15);
  EXPECT_EQ(schedule.warmup_steps(), 3);
  EXPECT_EQ(schedule.rounds(), 3);
  EXPECT_EQ(Ends(schedule, 15), (std::vector<int64_t>{0, 1, 2, 6, 10, 14}));
  for (int64_t step = 0; step < 15; ++step) EXPECT_EQ(schedule.local(step), step >= 3) << step;
}

TEST(RoundScheduleTest, TheLastRoundMayBeShorter) {
  const RoundSchedule schedule(Config(4, 0), 10);
  EXPECT_EQ(Ends(schedule, 10), (std::vector<int64_t>{3, 7, 9}));
  EXPECT_EQ(schedule.rounds(), 3);
  EXPECT_EQ(schedule.CompleteSteps(9), 10);
}

TEST(RoundScheduleTest, FindsTheNextEnd) {
  const RoundSchedule schedule(Config(8, 0.05), 100);
  for (int64_t steps = 0; steps <= 100; ++steps) {
    const int64_t complete = schedule.CompleteSteps(steps);
    ASSERT_GE(complete, steps);
    EXPECT_TRUE(complete == 0 || schedule.ends(complete - 1)) << steps;
    for (int64_t step = steps; step < complete; ++step) {
      EXPECT_EQ(step > 0 && schedule.ends(step - 1), false) << steps;
    }
  }
}

TEST(RoundScheduleTest, ExtremesAreLazyOrOneRound) {
  const RoundSchedule all_warmup(Config(4, 1), 10), one_step(Config(1, 0), 10);
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_FALSE(all_warmup.local(step));
    EXPECT_TRUE(all_warmup.ends(step));
    EXPECT_TRUE(one_step.local(step));
    EXPECT_TRUE(one_step.ends(step));
  }
  EXPECT_EQ(all_warmup.rounds(), 0);
  const RoundSchedule one_round(Config(100000, 0), 10);
  EXPECT_EQ(Ends(one_round, 10), std::vector<int64_t>{9});
}

}  // namespace
}  // namespace gf

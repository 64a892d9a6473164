#include "solvers/size_schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/config/config.h"

namespace gf {
namespace {

SizeSchedule Schedule(const std::string& text) {
  DataConfig config;
  ParseTextProto(text, "test", &config);
  return SizeSchedule(config, BatchSchedule(SolverConfig(), 1000, 100));
}

TEST(SizeScheduleTest, OneSizeWithoutPhases) {
  const SizeSchedule sizes = Schedule("crop_size: 20");
  EXPECT_EQ(sizes.FirstStepOf(1'000'000), 0);
  EXPECT_EQ(sizes.DataOf(1'000'000).crop_size(), 20);
  EXPECT_EQ(sizes.AllData().size(), 1u);
}

TEST(SizeScheduleTest, PhasesBeginWithTheFirstStepAfterTheirEpoch) {
  const SizeSchedule sizes = Schedule(
      "crop_size: 20 resize_shorter: 24 size_phase { epoch: 1 crop_size: 24 } "
      "size_phase { epoch: 2.55 crop_size: 28 resize_shorter: 32 }");
  EXPECT_EQ(sizes.FirstSteps(), (std::vector<int64_t>{0, 10, 26}));
  EXPECT_EQ(sizes.FirstStepOf(9), 0);
  EXPECT_EQ(sizes.DataOf(9).crop_size(), 20);
  EXPECT_EQ(sizes.FirstStepOf(10), 10);
  EXPECT_EQ(sizes.DataOf(25).crop_size(), 24);
  EXPECT_EQ(sizes.DataOf(25).resize_shorter(), 24);
  EXPECT_EQ(sizes.FirstStepOf(26), 26);
  EXPECT_EQ(sizes.DataOf(26).crop_size(), 28);
  EXPECT_EQ(sizes.DataOf(26).resize_shorter(), 32);
}

TEST(SizeScheduleTest, PhasesWithoutStepsAreLeftOut) {
  const SizeSchedule sizes = Schedule(
      "crop_size: 20 size_phase { epoch: 1.01 crop_size: 24 } "
      "size_phase { epoch: 1.02 crop_size: 28 }");
  EXPECT_EQ(sizes.AllData().size(), 2u);
  EXPECT_EQ(sizes.DataOf(11).crop_size(), 28);
}

}  // namespace
}  // namespace gf

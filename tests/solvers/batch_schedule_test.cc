#include "solvers/batch_schedule.h"

#include <gtest/gtest.h>

#include "core/config/config.h"

namespace gf {
namespace {

BatchSchedule Schedule(const std::string& solver, int64_t images, int64_t images_per_batch) {
  SolverConfig config;
  ParseTextProto(solver, "test", &config);
  return BatchSchedule(config, images, images_per_batch);
}

TEST(BatchScheduleTest, ConstantBatches) {
  const BatchSchedule batches = Schedule("iter_size: 3", 1000, 100);
  EXPECT_TRUE(batches.constant());
  EXPECT_EQ(batches.ImagesOf(5), 300);
  EXPECT_EQ(batches.BatchesBefore(5), 15);
  EXPECT_EQ(batches.ImagesBefore(5), 1500);
  EXPECT_DOUBLE_EQ(batches.EpochsBefore(5), 1.5);
  EXPECT_EQ(batches.StepsOf(1), 4);
  EXPECT_EQ(batches.StepsOf(3), 10);
  EXPECT_EQ(batches.StepsOf(0), 0);
}

// 10 steps of 100 images, 5 of 200, then steps of 300 from the first after 3.5 epochs on.
TEST(BatchScheduleTest, PhasesBeginWithTheFirstStepAfterTheirEpoch) {
  const BatchSchedule batches = Schedule(
      "batch_phase { epoch: 1 iter_size: 2 } batch_phase { epoch: 3.5 iter_size: 3 }", 1000, 100);
  EXPECT_FALSE(batches.constant());
  EXPECT_EQ(batches.largest_iter_size(), 3);
  EXPECT_EQ(batches.IterSize(9), 1);
  EXPECT_EQ(batches.IterSize(10), 2);
  EXPECT_EQ(batches.ImagesBefore(10), 1000);
  EXPECT_EQ(batches.IterSize(22), 2);
  EXPECT_EQ(batches.ImagesBefore(23), 3600);
  EXPECT_EQ(batches.IterSize(23), 3);
  EXPECT_EQ(batches.ImagesBefore(25), 4200);
  EXPECT_EQ(batches.StepsOf(1), 10);
  EXPECT_EQ(batches.StepsOf(1.5), 13);
  EXPECT_EQ(batches.StepsOf(3.5), 23);
  EXPECT_EQ(batches.StepsOf(4.2), 25);
  EXPECT_EQ(batches.StepsOf(4.3), 26);
  // Every step continues where the one before ended.
  for (int64_t step = 0; step < 40; ++step) {
    EXPECT_EQ(batches.ImagesBefore(step + 1), batches.ImagesBefore(step) + batches.ImagesOf(step));
  }
}

TEST(BatchScheduleTest, APhaseFromTheStartReplacesIterSize) {
  const BatchSchedule batches = Schedule(
      "iter_size: 7 batch_phase { epoch: 0 iter_size: 2 } batch_phase { epoch: 2 iter_size: 1 }",
      1000, 100);
  EXPECT_EQ(batches.IterSize(0), 2);
  EXPECT_EQ(batches.largest_iter_size(), 2);
  EXPECT_EQ(batches.IterSize(10), 1);
}

TEST(BatchScheduleTest, PhasesShorterThanAStepAreLeftOut) {
  const BatchSchedule batches = Schedule(
      "iter_size: 10 batch_phase { epoch: 0.1 iter_size: 2 } batch_phase { epoch: 0.2 iter_size: "
      "5}",
      1000, 100);
  EXPECT_EQ(batches.IterSize(0), 10);
  EXPECT_EQ(batches.IterSize(1), 5);
  EXPECT_EQ(batches.ImagesBefore(2), 1500);
}

}  // namespace
}  // namespace gf

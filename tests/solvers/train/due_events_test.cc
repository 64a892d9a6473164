#include "solvers/train/due_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace gf {
namespace {

// A checkpoint every 3 steps or 2 epochs, a validation every half epoch, of 40 samples.
JobConfig Config() {
  JobConfig config;
  config.mutable_checkpoint()->set_interval_steps(3);
  config.mutable_checkpoint()->set_interval_epochs(2);
  config.set_validation_interval_epochs(0.5);
  return config;
}

TEST(DueEventsTest, IntervalsCountStepsAndImages) {
  DueEvents due(Config(), 40);
  std::vector<int> saves, validations;
  for (int step = 1; step <= 12; ++step) {
    due.StepDone(step, 8, 8 * step);
    if (due.TakeSave()) saves.push_back(step);
    if (due.TakeValidation()) validations.push_back(step);
    EXPECT_FALSE(due.TakeSave() || due.TakeValidation()) << "an event is taken once";
  }
  EXPECT_EQ(saves, (std::vector<int>{3, 6, 9, 10, 12}));    // 80 images after step 10
  EXPECT_EQ(validations, (std::vector<int>{3, 5, 8, 10}));  // 20, 40, 60, 80
}

TEST(DueEventsTest, EventsWaitForTheEndOfARound) {
  DueEvents due(Config(), 40);
  for (int step = 1; step <= 4; ++step) due.StepDone(step, 8, 8 * step);
  EXPECT_TRUE(due.save());
  EXPECT_TRUE(due.validation());
  EXPECT_TRUE(due.TakeSave());
  EXPECT_TRUE(due.TakeValidation());
  EXPECT_FALSE(due.save());
  EXPECT_FALSE(due.validation());
}

TEST(DueEventsTest, IntervalsOfZeroAreNeverDue) {
  JobConfig config;
  config.mutable_checkpoint()->set_interval_epochs(0);
  config.set_validation_interval_epochs(0);
  DueEvents due(config, 40);
  for (int step = 1; step <= 100; ++step) due.StepDone(step, 8, 8 * step);
  EXPECT_FALSE(due.save());
  EXPECT_FALSE(due.validation());
}

TEST(DueEventsTest, ValidationsMayCountSteps) {
  JobConfig config = Config();
  config.clear_validation_interval_epochs();
  config.set_validation_interval_steps(4);
  DueEvents due(config, 40);
  std::vector<int> validations;
  for (int step = 1; step <= 13; ++step) {
    due.StepDone(step, 8, 8 * step);
    if (due.TakeValidation()) validations.push_back(step);
  }
  // And not after each epoch of 5 steps.
  EXPECT_EQ(validations, (std::vector<int>{4, 8, 12}));
  // Within a round it waits.
  for (int step = 14; step <= 18; ++step) due.StepDone(step, 8, 8 * step);
  EXPECT_TRUE(due.validation());
  EXPECT_TRUE(due.TakeValidation());
  EXPECT_FALSE(due.validation());
}

// A tenth of 30 samples is 3 images only nearly.
TEST(DueEventsTest, IntervalsAreRounded) {
  JobConfig config = Config();
  config.set_validation_interval_epochs(0.1);
  DueEvents due(config, 30);
  for (int step = 1; step <= 50; ++step) {
    due.StepDone(step, 3, 3 * step);
    EXPECT_TRUE(due.TakeValidation()) << step;
  }
}

}  // namespace
}  // namespace gf

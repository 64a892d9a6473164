#include "solvers/lr_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/config.h"
#include "core/error.h"

namespace gf {
namespace {

// `images_per_batch` of all ranks.
LearningRate Rate(const std::string& solver, double batches_per_epoch = 100,
                  int64_t images_per_batch = 256) {
  SolverConfig config;
  ParseTextProto(solver, "test", &config);
  const int64_t images = std::llround(batches_per_epoch * static_cast<double>(images_per_batch));
  return LearningRate(config, BatchSchedule(config, images, images_per_batch));
}

TEST(LearningRateTest, FixedStaysTheSame) {
  const LearningRate rate = Rate("base_lr: 0.5 max_steps: 10");
  EXPECT_DOUBLE_EQ(rate.At(0), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(9), 0.5);
}

TEST(LearningRateTest, StepFallsAtMultiplesOfStepSize) {
  const LearningRate rate =
      Rate("base_lr: 2 lr_policy: STEP gamma: 0.5 step_size: 10 max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(0), 2);
  EXPECT_DOUBLE_EQ(rate.At(9), 2);
  EXPECT_DOUBLE_EQ(rate.At(10), 1);
  EXPECT_DOUBLE_EQ(rate.At(19), 1);
  EXPECT_DOUBLE_EQ(rate.At(30), 0.25);
}

TEST(LearningRateTest, MultistepFallsAtEachValue) {
  const LearningRate rate =
      Rate("base_lr: 2 lr_policy: MULTISTEP gamma: 0.5 step_value: 3 step_value: 7 max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(2), 2);
  EXPECT_DOUBLE_EQ(rate.At(3), 1);
  EXPECT_DOUBLE_EQ(rate.At(6), 1);
  EXPECT_DOUBLE_EQ(rate.At(7), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(99), 0.5);
}

TEST(LearningRateTest, PolyReachesZeroAtTheEnd) {
  const LearningRate rate = Rate("base_lr: 2 lr_policy: POLY power: 2 max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(0), 2);
  EXPECT_DOUBLE_EQ(rate.At(50), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(100), 0);
  EXPECT_DOUBLE_EQ(rate.At(200), 0);  // not a number outside, with an odd power
}

TEST(LearningRateTest, PolyAndCosineEndAtEndLr) {
  const LearningRate poly = Rate("base_lr: 2 end_lr: 0.5 lr_policy: POLY power: 2 max_steps: 100");
  EXPECT_DOUBLE_EQ(poly.At(0), 2);
  EXPECT_DOUBLE_EQ(poly.At(50), 0.5 + 1.5 / 4);
  EXPECT_DOUBLE_EQ(poly.At(100), 0.5);
  const LearningRate cosine = Rate("base_lr: 2 end_lr: 0.5 lr_policy: COSINE max_steps: 100");
  EXPECT_DOUBLE_EQ(cosine.At(0), 2);
  EXPECT_NEAR(cosine.At(50), 1.25, 1e-12);
  EXPECT_NEAR(cosine.At(100), 0.5, 1e-12);
}

TEST(LearningRateTest, DecayMayBeginAfterTheWarmup) {
  const LearningRate rate = Rate(
      "base_lr: 2 lr_policy: POLY power: 2 max_steps: 110 warmup_steps: 10 "
      "decay_after_warmup: true");
  EXPECT_DOUBLE_EQ(rate.At(0), 0);
  EXPECT_DOUBLE_EQ(rate.At(5), 1);
  EXPECT_DOUBLE_EQ(rate.At(10), 2);
  EXPECT_DOUBLE_EQ(rate.At(60), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(110), 0);
}

TEST(LearningRateTest, QuadraticWarmup) {
  const LearningRate rate =
      Rate("base_lr: 9 max_steps: 100 warmup_steps: 10 warmup_lr: 1 warmup_shape: QUADRATIC");
  EXPECT_DOUBLE_EQ(rate.At(0), 1);
  EXPECT_DOUBLE_EQ(rate.At(5), 1 + 8 * 0.25);
  EXPECT_DOUBLE_EQ(rate.At(10), 9);
}

TEST(LearningRateTest, TheLinearRuleCountsImagesOfAllRanks) {
  EXPECT_DOUBLE_EQ(Rate("base_lr_per_256: 0.125 max_steps: 10", 100, 8192).At(3), 4);
  EXPECT_DOUBLE_EQ(Rate("base_lr_per_256: 0.125 max_steps: 10", 100, 64).At(3), 0.03125);
}

TEST(LearningRateTest, StepsByEpochs) {
  const LearningRate step =
      Rate("base_lr: 2 lr_policy: STEP gamma: 0.5 step_epochs: 1.5 max_epochs: 10", 10);
  EXPECT_DOUBLE_EQ(step.At(14), 2);
  EXPECT_DOUBLE_EQ(step.At(15), 1);
  const LearningRate many = Rate(
      "base_lr: 2 lr_policy: MULTISTEP gamma: 0.5 epoch_value: 3 epoch_value: 6 max_epochs: 10",
      10);
  EXPECT_DOUBLE_EQ(many.At(29), 2);
  EXPECT_DOUBLE_EQ(many.At(30), 1);
  EXPECT_DOUBLE_EQ(many.At(60), 0.5);
}

TEST(LearningRateTest, EpochsNeedNotBeWholeSteps) {
  // 3.5 steps per epoch: the rate falls with the first step that begins after each.
  const LearningRate rate =
      Rate("base_lr: 1 lr_policy: STEP gamma: 0.5 step_epochs: 1 max_epochs: 10", 3.5);
  EXPECT_DOUBLE_EQ(rate.At(3), 1);
  EXPECT_DOUBLE_EQ(rate.At(4), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(6), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(7), 0.25);
  EXPECT_DOUBLE_EQ(rate.At(10), 0.25);
  EXPECT_DOUBLE_EQ(rate.At(11), 0.125);
}

TEST(LearningRateTest, FollowsTheBatchSize) {
  // Two epochs of 8 steps of one batch, then two of 2 steps of four.
  const std::string phases =
      "max_epochs: 4 batch_phase { epoch: 2 iter_size: 4 } lr_policy: POLY power: 1 ";
  const LearningRate fixed = Rate(phases + "base_lr: 1", 8);
  EXPECT_EQ(fixed.max_steps(), 20);
  EXPECT_DOUBLE_EQ(fixed.At(8), 0.75);
  EXPECT_DOUBLE_EQ(fixed.At(16), 0.5);
  EXPECT_DOUBLE_EQ(fixed.At(18), 0.25);
  const LearningRate linear = Rate(phases + "base_lr_per_256: 1", 8);
  EXPECT_DOUBLE_EQ(linear.At(15), 17.0 / 32);
  EXPECT_DOUBLE_EQ(linear.At(16), 4 * 0.5);
}

TEST(LearningRateTest, CosineIsHalfInTheMiddle) {
  const LearningRate rate = Rate("base_lr: 2 lr_policy: COSINE max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(0), 2);
  EXPECT_DOUBLE_EQ(rate.At(50), 1);
  EXPECT_NEAR(rate.At(25), 1 + std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(rate.At(100), 0, 1e-12);
}

TEST(LearningRateTest, ExpFallsEveryStep) {
  const LearningRate rate = Rate("base_lr: 8 lr_policy: EXP gamma: 0.5 max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(0), 8);
  EXPECT_DOUBLE_EQ(rate.At(3), 1);
}

TEST(LearningRateTest, InvFollowsCaffesFormula) {
  const LearningRate rate = Rate("base_lr: 0.5 lr_policy: INV gamma: 3 power: 2 max_steps: 100");
  EXPECT_DOUBLE_EQ(rate.At(0), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(1), 0.5 / 16);
}

// 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2, with x = gamma * (step - step_size).
TEST(LearningRateTest, SigmoidFollowsCaffesFormula) {
  for (const double gamma : {0.125, -0.125}) {
    const LearningRate rate = Rate(
        StrCat("base_lr: 0.5 lr_policy: SIGMOID gamma: ", gamma, " step_size: 40 max_steps: 100"));
    for (const int64_t step : {0, 1, 39, 40, 41, 99}) {
      const double x = gamma * static_cast<double>(step - 40);
      EXPECT_NEAR(rate.At(step), 0.25 * (1 + std::tanh(x / 2)), 1e-12) << step;
    }
    EXPECT_DOUBLE_EQ(rate.At(40), 0.25);
    EXPECT_EQ(rate.At(99) > rate.At(0), gamma > 0);
  }
}

TEST(LearningRateTest, SigmoidSaturates) {
  const std::string solver = "base_lr: 0.5 lr_policy: SIGMOID step_size: 40 max_steps: 100000 ";
  EXPECT_DOUBLE_EQ(Rate(solver + "gamma: 1e6").At(99999), 0.5);
  EXPECT_EQ(Rate(solver + "gamma: -1e6").At(99999), 0);
  EXPECT_DOUBLE_EQ(Rate(solver + "gamma: 0").At(7), 0.25);
}

// NVIDIA's Caffe: rampup_lr + (base_lr - rampup_lr) * step / rampup_interval.
TEST(LearningRateTest, WarmupMayRiseToTheBaseRateAboveThePolicys) {
  const LearningRate rate = Rate(
      "base_lr: 1 lr_policy: POLY power: 1 max_steps: 100 warmup_steps: 20 warmup_lr: 0.25 "
      "warmup_to_base_lr: true");
  for (const int64_t step : {0, 1, 10, 19}) {
    EXPECT_DOUBLE_EQ(rate.At(step), 0.25 + 0.75 * static_cast<double>(step) / 20) << step;
  }
  // The policy's rate follows, which has fallen from step 0 on.
  for (const int64_t step : {20, 21, 99}) {
    EXPECT_NEAR(rate.At(step), 1 - static_cast<double>(step) / 100, 1e-12) << step;
  }
}

TEST(LearningRateTest, WarmupToTheBaseRateFollowsTheLinearRuleAndTheShape) {
  const LearningRate rate = Rate(
      "base_lr_per_256: 0.5 lr_policy: POLY power: 2 max_steps: 100 warmup_steps: 10 "
      "warmup_shape: QUADRATIC warmup_to_base_lr: true",
      100, 1024);
  EXPECT_DOUBLE_EQ(rate.At(0), 0);
  EXPECT_DOUBLE_EQ(rate.At(5), 2 * 0.25);
  EXPECT_NEAR(rate.At(10), 2 * 0.9 * 0.9, 1e-12);
}

TEST(LearningRateTest, WarmupRisesLinearlyToThePolicysRate) {
  const LearningRate rate =
      Rate("base_lr: 1 lr_policy: POLY power: 1 max_steps: 100 warmup_steps: 10 warmup_lr: 0.1");
  EXPECT_NEAR(rate.At(0), 0.1, 1e-7);
  EXPECT_NEAR(rate.At(5), 0.5, 1e-7);
  EXPECT_NEAR(rate.At(9), 0.82, 1e-7);
  EXPECT_NEAR(rate.At(10), 0.9, 1e-7);
  EXPECT_NEAR(rate.At(11), 0.89, 1e-7);
}

TEST(LearningRateTest, EpochsBecomeSteps) {
  const LearningRate rate = Rate("base_lr: 1 max_epochs: 1.5 warmup_epochs: 0.5", 100);
  EXPECT_EQ(rate.max_steps(), 150);
  EXPECT_EQ(rate.warmup_steps(), 50);
  // The step that reaches the end of an epoch counts, whole or not.
  EXPECT_EQ(Rate("base_lr: 1 max_epochs: 1", 468.75).max_steps(), 469);
  // 3 epochs of 1/3 step are one step in spite of rounding.
  EXPECT_EQ(Rate("base_lr: 1 max_epochs: 3", 1.0 / 3, 768).max_steps(), 1);
}

TEST(LearningRateTest, AWarmupLongerThanTrainingIsRefused) {
  EXPECT_THROW(Rate("base_lr: 1 max_steps: 10 warmup_steps: 10"), UserError);
  EXPECT_NO_THROW(Rate("base_lr: 1 max_steps: 11 warmup_steps: 10"));
}

TEST(LearningRateTest, TrainingThatCannotBeCountedIsRefused) {
  const auto error = [](const std::string& solver) {
    try {
      Rate(solver);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      error("base_lr: 1 max_steps: 1000000000000000"),
      "solver.max_steps: training of 1000000000000000 steps takes 2.56e+17 images, must be at "
      "most 1e+15: shorten it");
  EXPECT_EQ(error("base_lr: 1 max_steps: 1000000000000000 iter_size: 1048576")
                .find("solver.max_steps: training of 1000000000000000 steps takes 2.68"),
            0u);
  EXPECT_EQ(error("base_lr: 1 max_steps: 1000000000000"), "");
}

}  // namespace
}  // namespace gf

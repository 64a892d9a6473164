// The whole training of simulated jobs: several batches per step, images of several sizes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/estimate/gpu.h"
#include "core/file.h"
#include "core/output_file.h"
#include "simulate/job_run.h"
#include "tests/simulate/job_for_test.h"

namespace gf {
namespace {

// All ranks alike.
SimulatedJob EvenJob(const std::vector<std::string>& overrides = {}) {
  SimulatedJob job = Job(overrides);
  job.cluster.mutable_device()->set_jitter(0);
  return job;
}

// On a GPU, 16 epochs.
SimulatedJob Resnet50Job(std::vector<std::string> overrides) {
  for (const char* each :
       {"net=../../models/resnet50.prototxt", "train_data.batch_size=32",
        "train_data.crop_size=160", "validation_data.crop_size=160", "solver.max_epochs=16"}) {
    overrides.insert(overrides.begin(), each);
  }
  SimulatedJob job = EvenJob(overrides);
  job.config.mutable_input();  // the net takes any size
  job.gpu = &FindGpu("--gpu", "h200");
  return job;
}

// The job's images have this size from an epoch on.
SimulatedJob WithPhase(SimulatedJob job, double epoch, int crop_size) {
  SizePhase* const phase = job.config.mutable_train_data()->add_size_phase();
  phase->set_epoch(epoch);
  phase->set_crop_size(crop_size);
  return job;
}

// Bytes by which a BF16 gradient is added to an FP32 sum, and by which the sum is merged.
constexpr int kAdd = 10, kMerge = 12;

double SumSeconds(int bytes) {
  const SimulatedJob job = Job();
  return static_cast<double>(Simulator(job).net().layout.count()) * bytes /
         (job.cluster.device().memory_gb_s() * 1e9);
}

TEST(JobTrainingTest, StepsOfSeveralBatchesExchangeOnce) {
  const RunResult one = Simulator(EvenJob()).Run(64);
  const RunResult four = Simulator(EvenJob({"solver.iter_size=4"})).Run(64);
  EXPECT_EQ(four.step_images, 4 * one.step_images);
  EXPECT_EQ(four.sent_bytes, one.sent_bytes);
  EXPECT_NEAR(four.step.forward, 4 * one.step.forward, 1e-9);
  EXPECT_NEAR(four.step.backward, 4 * one.step.backward + SumSeconds(3 * kAdd + kMerge), 1e-6);
  EXPECT_NEAR(four.step.exposed, one.step.exposed, 1e-3);
  EXPECT_NEAR(four.step.update, one.step.update, 1e-9);
  EXPECT_GT(four.images_per_s, one.images_per_s);
  EXPECT_GT(four.efficiency(), one.efficiency());
  EXPECT_LE(four.efficiency(), 1);
  EXPECT_NEAR(static_cast<double>(four.total_steps), one.total_steps / 4.0, 1);
  EXPECT_EQ(four.phases.size(), 1u);
  EXPECT_NEAR(four.steady, four.step.total() * static_cast<double>(four.total_steps), 1e-6);
}

// A rank that is slow in one batch is not slow in the next.
TEST(JobTrainingTest, RanksWaitForEachOtherOncePerStep) {
  const auto compute = [](const char* batches, double jitter) {
    SimulatedJob job = Job({batches});
    job.cluster.mutable_device()->set_jitter(jitter);
    const StepParts step = Simulator(job).Run(64).step;
    return step.forward + step.backward;
  };
  const auto lost = [&](const char* batches) {
    return compute(batches, 0.1) / compute(batches, 0) - 1;
  };
  EXPECT_NEAR(lost("solver.iter_size=16"), lost("solver.iter_size=1") / 4, 0.01);
}

TEST(JobTrainingTest, SlowLoadingHoldsUpEveryBatch) {
  SimulatedJob job = EvenJob({"solver.iter_size=3"});
  job.cluster.mutable_run()->set_node_images_per_s(1024);  // a second per batch of 8 x 128
  EXPECT_NEAR(Simulator(job).Run(8).step.total(), 3, 1e-6);
}

TEST(JobTrainingTest, BatchPhasesHaveStepsOfTheirOwn) {
  SimulatedJob job = EvenJob();
  BatchPhase* const phase = job.config.mutable_solver()->add_batch_phase();
  phase->set_epoch(47.5);
  phase->set_iter_size(2);
  const RunResult run = Simulator(job).Run(64);
  ASSERT_EQ(run.phases.size(), 2u);
  EXPECT_EQ(run.phases[0].first_step, 0);
  EXPECT_EQ(run.phases[0].step_images, 64 * 128);
  EXPECT_EQ(run.phases[1].step_images, 2 * 64 * 128);
  const RunResult one = Simulator(EvenJob()).Run(64);
  const RunResult two = Simulator(EvenJob({"solver.iter_size=2"})).Run(64);
  // In this job a single batch is merged, too.
  EXPECT_NEAR(run.phases[0].step, one.step.total() + SumSeconds(kMerge), 2e-4);
  EXPECT_NEAR(run.phases[1].step, two.step.total(), 1e-9);
  EXPECT_NEAR(run.steady,
              run.phases[0].step * static_cast<double>(one.total_steps) / 2 + two.steady / 2,
              two.step.total());
  phase->set_epoch(0);
  EXPECT_NEAR(Simulator(job).Run(64).steady, two.steady, 1e-9);
}

// A phase is as long as the same epochs of a job on images of that size.
TEST(JobTrainingTest, PhasesOfLargerImagesTakeLonger) {
  const RunResult small = Simulator(Resnet50Job({})).Run(1);
  const RunResult large = Simulator(Resnet50Job({"train_data.crop_size=192"})).Run(1);
  const RunResult grows = Simulator(WithPhase(Resnet50Job({}), 12, 192)).Run(1);
  ASSERT_EQ(grows.phases.size(), 2u);
  EXPECT_EQ(grows.phases[0].crop_size, 160);
  EXPECT_EQ(grows.phases[1].crop_size, 192);
  EXPECT_NEAR(grows.phases[0].step, small.step.total(), 1e-9);
  EXPECT_NEAR(grows.phases[1].step, large.step.total(), 1e-9);
  EXPECT_GT(grows.phases[1].step, 1.2 * grows.phases[0].step);
  EXPECT_NEAR(grows.steady, 0.75 * small.steady + 0.25 * large.steady, large.step.total());
  EXPECT_NEAR(grows.images_per_s, small.images_per_s, 1e-6);
}

// Without a GPU's estimate, layers take time in proportion to their work: (192 / 160)^2 times in
// the convolutions, which are nearly all of it.
TEST(JobTrainingTest, KnownRatesAreStretchedToLargerImages) {
  SimulatedJob job = WithPhase(Resnet50Job({}), 12, 192);
  job.gpu = nullptr;
  const RunResult run = Simulator(job).Run(1);
  const double update = run.step.update;
  EXPECT_NEAR((run.phases[1].step - update) / (run.phases[0].step - update), 1.44, 0.01);
}

TEST(JobTrainingTest, TheDensityGrowsInPhasesOfTheirOwnLength) {
  const auto job = [](const char* size) {
    return Resnet50Job({"comm.mode=SPARSE", "comm.sparse.warmup_fraction=0.5", size});
  };
  const double small = Simulator(job("train_data.crop_size=160")).Run(64).warmup;
  const double large = Simulator(job("train_data.crop_size=192")).Run(64).warmup;
  const double grows = Simulator(WithPhase(job("train_data.crop_size=160"), 4, 192)).Run(64).warmup;
  EXPECT_NEAR(grows, (small + large) / 2, 0.05 * small);
}

TEST(JobTrainingTest, ValidationTakesItsOwnImagesAndViews) {
  for (const bool estimated : {true, false}) {
    const auto validation = [&](const std::vector<std::string>& overrides) {
      SimulatedJob job = Resnet50Job(overrides);
      if (!estimated) job.gpu = nullptr;
      return Simulator(job).Run(64).validation;
    };
    const double one = validation({});
    EXPECT_GT(one, 0);
    const double large = validation({"validation_data.crop_size=224"});
    EXPECT_GT(large, 1.5 * one);
    EXPECT_LT(large, 2 * one);  // (224 / 160)^2 is 1.96
    // Images are prepared once for all views.
    const double flips = validation({"validation_data.test_flips=true"});
    const double shifts = validation({"validation_data.test_shifts=2"});
    EXPECT_NEAR(flips / one, 2, estimated ? 0.01 : 0.2);
    EXPECT_NEAR(shifts - one, 2 * (flips - one), 1e-9);
    EXPECT_NEAR(
        validation({"validation_data.test_flips=true", "validation_data.test_shifts=2"}) - one,
        5 * (flips - one), 1e-9);
  }
}

// 50,000 images on 64 ranks: 782 each.
TEST(JobTrainingTest, ValidationHasItsOwnBatches) {
  const auto validation = [](int batch) {
    SimulatedJob job = Resnet50Job({StrCat("validation_data.batch_size=", batch)});
    job.gpu = nullptr;
    return Simulator(job).Run(64).validation;
  };
  const double image = validation(782) / 782;
  EXPECT_NEAR(validation(50), 16 * 50 * image, 1e-9);
  EXPECT_NEAR(validation(500), 2 * 500 * image, 1e-9);
}

// 16 epochs of 1,281,167 images in steps of 2,048 end a little after the 16th.
TEST(JobTrainingTest, ValidationsByEpochsAreThoseOfTheTrainer) {
  const auto validation = [](const char* interval) {
    return Simulator(Resnet50Job({StrCat("validation_interval_epochs=", interval)}))
        .Run(64)
        .validation;
  };
  const double one = validation("16");
  EXPECT_NEAR(validation("1"), 16 * one, 1e-9);
  EXPECT_NEAR(validation("5"), 4 * one, 1e-9);
  EXPECT_NEAR(validation("0"), one, 1e-9);
  const RunResult all = Simulator(Resnet50Job({"validation_interval_epochs=0.00001"})).Run(64);
  EXPECT_NEAR(all.validation, static_cast<double>(all.total_steps) * one, 1e-6);
}

// In Caffe, a net's Data layers have a crop of their own in each phase.
TEST(JobTrainingTest, PhasesOfTheNetMayHaveSizesOfTheirOwn) {
  std::string text = ReadSmallFile("models/resnet50.prototxt", 1 << 20);
  const size_t input = text.find("layer {"), end = text.find("layer {", input + 1);
  const auto data = [](const char* phase, int crop) {
    return StrCat("layer { name: \"data\" type: \"Data\" top: \"data\" include { phase: ", phase,
                  " } transform_param { crop_size: ", crop, " } }\n");
  };
  text.replace(input, end - input, data("TRAIN", 160) + data("TEST", 224));
  const std::string net = testing::TempDir() + "/phases.prototxt";
  ReplaceFile(net, text);
  SimulatedJob job =
      EvenJob({"net=" + net, "train_data.crop_size=160", "validation_data.crop_size=224"});
  EXPECT_GT(Simulator(job).Run(8).validation, 0);
}

TEST(JobTrainingTest, SizesThatTheNetRefusesAreNamed) {
  EXPECT_EQ(ErrorOf(WithPhase(Job(), 12, 4)).rfind("train_data.size_phase with crop_size 4: ", 0),
            0u);
  // alexnet_bn's fc6 has a weight for each pixel.
  SimulatedJob job = Job();
  job.config.mutable_input();
  EXPECT_EQ(
      ErrorOf(WithPhase(job, 12, 291))
          .rfind("train_data.size_phase with crop_size 291: parameter fc6.weight is 4096x", 0),
      0u);
  job.config.mutable_validation_data()->set_crop_size(291);
  EXPECT_EQ(ErrorOf(job).rfind("validation_data: parameter fc6.weight is 4096x", 0), 0u);
}

TEST(JobTrainingTest, ImagesHaveALimit) {
  SimulatedJob job = Job();
  job.train_images = 2'000'000'000'000;
  EXPECT_EQ(ErrorOf(job), "--train_images is 2000000000000, must be from 1 to 1,000,000,000,000");
  job = Job();
  job.validation_images = -1;
  EXPECT_EQ(ErrorOf(job), "--validation_images is -1, must be from 0 to 1,000,000,000,000");
}

// 2^20 batches of 2^12 images.
TEST(JobTrainingTest, TheLargestStepsDoNotOverflow) {
  SimulatedJob job = EvenJob({"train_data.batch_size=4096", "solver.iter_size=1048576"});
  job.cluster.mutable_run()->set_node_images_per_s(1000);
  const RunResult run = Simulator(job).Run(8);
  EXPECT_EQ(run.step_images, int64_t{1} << 35);
  EXPECT_NEAR(run.step.total(), static_cast<double>(run.step_images) / 1000, 1);
  EXPECT_GT(run.one_device, 1000);
}

// However short a phase is, its steps count in the warm-up.
TEST(JobTrainingTest, TheWarmUpSeesEveryPhase) {
  const auto training = [](const char* fraction) {
    SimulatedJob job =
        EvenJob({"comm.mode=SPARSE", StrCat("comm.sparse.warmup_fraction=", fraction)});
    BatchPhase* const phase = job.config.mutable_solver()->add_batch_phase();
    phase->set_epoch(47.5);
    phase->set_iter_size(64);
    return Simulator(job).Run(64).training();
  };
  EXPECT_GE(training("1"), training("0"));
  EXPECT_GE(training("0.99"), training("0"));
}

}  // namespace
}  // namespace gf

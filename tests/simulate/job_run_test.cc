#include "simulate/job_run.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/suggest.h"
#include "simulate/sweep.h"
#include "simulate/trace.h"

namespace gf {
namespace {

SimulatedJob Job(const std::vector<std::string>& overrides = {}) {
  SimulatedJob job;
  job.config = ReadJobConfig("tests/simulate/paper_alexnet.prototxt", overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt");
  return job;
}

TEST(JobRunTest, SameSeedSameResult) {
  const auto csv = [](uint64_t seed) {
    SimulatedJob job = Job();
    job.seed = seed;
    const auto axes = ParseSweep("ranks=8,64");
    return SweepCsv(axes, RunSweep(job, axes));
  };
  EXPECT_EQ(csv(1), csv(1));
  EXPECT_NE(csv(1), csv(2));
}

TEST(JobRunTest, OneRankIsAsFastAsItsDevice) {
  SimulatedJob job = Job();
  job.cluster.mutable_device()->set_jitter(0);
  const RunResult run = Simulator(job).Run(1);
  EXPECT_NEAR(run.images_per_s, 3700, 1);
  EXPECT_NEAR(run.step.exposed, 0, 1e-9);
}

TEST(JobRunTest, PhasesOfTrainingAddUp) {
  SimulatedJob job = Job({"comm.mode=SPARSE", "validation_interval_epochs=1"});
  job.cluster.mutable_run()->set_startup_s(5);
  const RunResult run = Simulator(job).Run(512);
  EXPECT_EQ(run.total_steps, 1858);  // 95 x 1281167 / 65536, rounded up
  EXPECT_EQ(run.startup, 5);
  EXPECT_GT(run.warmup, 0.05 * 1858 * run.step.total());  // denser steps are longer
  EXPECT_LT(run.warmup, 0.2 * run.steady);
  EXPECT_GT(run.validation, 0);
  EXPECT_NEAR(run.training(), run.startup + run.warmup + run.steady + run.validation, 1e-9);
}

TEST(JobRunTest, SlowLoadingShowsAsData) {
  SimulatedJob job = Job();
  job.cluster.mutable_run()->set_node_images_per_s(1024);  // a second per step of 8 x 128
  const RunResult run = Simulator(job).Run(8);
  EXPECT_NEAR(run.step.total(), 1, 1e-6);
  EXPECT_GT(run.step.data, 0.8);
}

// Message by message it would take hours.
TEST(JobRunTest, FourThousandRanksAreSimulatedBeforeTheTestTimesOut) {
  SimulatedJob job = Job({"comm.mode=SPARSE", "comm.algorithm=auto"});
  EXPECT_GT(Simulator(job).Run(4096).images_per_s, 0);
}

TEST(JobRunTest, WithoutRateFlopsTellTheLengthOfAStep) {
  SimulatedJob job = Job();
  job.cluster.mutable_device()->clear_rate();
  EXPECT_GT(Simulator(job).Run(8).images_per_s, 0);
  job.cluster.mutable_device()->clear_tflops();
  EXPECT_THROW(Simulator simulator(job), UserError);
}

TEST(JobRunTest, RatesOfBf16AlsoServeFp16) {
  const auto step = [](const char* compute) {
    return Simulator(Job({compute})).Run(1).step.total();
  };
  EXPECT_EQ(step("compute_type=FP16"), step("compute_type=BF16"));
  EXPECT_LT(step("compute_type=FP16"), 0.9 * step("compute_type=FP32"));
}

TEST(JobRunTest, ProfilesOfOtherNetsAreMistakes) {
  const ProfileConfig profile = ParseProfile(
      "net: \"n\" batch: 8 step_ms: 3 layer { name: \"nowhere\" backward_ms: 1 }", "p");
  SimulatedJob job = Job();
  job.profile = &profile;
  EXPECT_THROW(Simulator simulator(job), UserError);
}

TEST(SweepTest, RangesDoubleAndEndWithTheLast) {
  EXPECT_EQ(ParseSweep("ranks=1..12")[0].values,
            (std::vector<std::string>{"1", "2", "4", "8", "12"}));
  EXPECT_EQ(ParseSweep("theta=64K,1M")[0].values, (std::vector<std::string>{"65536", "1048576"}));
  EXPECT_EQ(ParseSweep("mode=LAZY,SPARSE")[0].field, "comm.mode");
  EXPECT_EQ(ParseSweep("ranks=1..8 density=0.1,0.2").size(), 2u);
}

TEST(SweepTest, InvalidSweepsAreMistakes) {
  for (const char* text :
       {"", "ranks", "ranks=", "=3", "ranks=0", "ranks=1.5", "ranks=a..b", "ranks=8..1",
        "ranks=1,,2", "ranks=99999999", "a=1 b=2 c=3", "density=0.0000001..1e14", "ranks=-1..4"}) {
    EXPECT_THROW(ParseSweep(text), UserError) << text;
  }
}

TEST(SweepTest, ChangesFieldsOfTheConfig) {
  const auto axes = ParseSweep("comm.sparse.density=0.1,0.5 mode=LAZY,SPARSE");
  const auto points = RunSweep(Job(), axes);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].run.sent_bytes, points[1].run.sent_bytes);      // LAZY
  EXPECT_LT(4 * points[2].run.sent_bytes, points[3].run.sent_bytes);  // SPARSE
}

TEST(SuggestTest, IsAtLeastAsGoodAsTheConfig) {
  SimulatedJob job = Job({"comm.threshold_first=0", "comm.threshold_middle=0"});
  job.ranks = 64;
  job.steps = 1;
  const auto all = Suggest(job);
  EXPECT_LT(all[0].run.step.total(), Simulator(job).Run().step.total());
  SimulatedJob changed = job;
  for (const std::string& setting : all[0].settings) SetField(setting, &changed.config);
  EXPECT_EQ(Simulator(changed).Run().step.total(), all[0].run.step.total());
}

TEST(TraceTest, HasTheLanesOfRealRuns) {
  SimulatedJob job = Job();
  job.ranks = 16;
  const std::string json = TraceJson(Simulator(job).Trace(), job.cluster.node(), 2, "profile");
  for (const char* word : {"\"rank 1 (node0)\"", "forward", "backward", "bucket transfer",
                           "bucket wait", "update", "fc8.weight", "\"traceEvents\""}) {
    EXPECT_NE(json.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(json.find("rank 2 "), std::string::npos);
}

}  // namespace
}  // namespace gf

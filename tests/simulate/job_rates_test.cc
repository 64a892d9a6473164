// How long a step takes on one device: its rate, the rate of another type, or a profile.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"
#include "tests/simulate/job_for_test.h"

namespace gf {
namespace {

SimulatedJob JobWithPlaces(const std::vector<std::string>& overrides) {
  SimulatedJob job = Job(overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt", &job.cluster_places);
  return job;
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

TEST(JobRunTest, BorrowedRatesAreNamedWithTheirPlace) {
  const std::string guess = Simulator(JobWithPlaces({"compute_type=FP16"})).Run(1).guess;
  EXPECT_EQ(guess.find("configs/clusters/paper_v.prototxt:34:3: "), 0u) << guess;
  for (const char* word : {"alexnet_bn", "FP16", "BF16", "3700 images/s", "compute: FP16"}) {
    EXPECT_NE(guess.find(word), std::string::npos) << guess;
  }
  EXPECT_EQ(Simulator(JobWithPlaces({"compute_type=BF16"})).Run(1).guess, "");
}

TEST(JobRunTest, RatesOfFp16AlsoServeBf16) {
  SimulatedJob job = Job({"compute_type=BF16"});
  const double step = Simulator(job).Run(1).step.total();
  for (RateConfig& rate : *job.cluster.mutable_device()->mutable_rate()) {
    if (rate.compute() == BF16) rate.set_compute(FP16);
  }
  const RunResult run = Simulator(job).Run(1);
  EXPECT_EQ(run.step.total(), step);
  EXPECT_NE(run.guess.find("guessed to be that of FP16"), std::string::npos) << run.guess;
}

TEST(JobRunTest, ARateOfTheTypeItselfIsPreferred) {
  SimulatedJob job = Job({"compute_type=FP16"});
  job.cluster.mutable_device()->set_jitter(0);
  RateConfig* const rate = job.cluster.mutable_device()->add_rate();
  rate->set_net("alexnet_bn");
  rate->set_batch(128);
  rate->set_compute(FP16);
  rate->set_images_per_s(1000);
  const RunResult run = Simulator(job).Run(1);
  EXPECT_NEAR(run.images_per_s, 1000, 1);
  EXPECT_EQ(run.guess, "");
}

TEST(JobRunTest, WithoutRateTheGuessIsNamed) {
  SimulatedJob job = JobWithPlaces({"compute_type=FP32"});
  auto* const rates = job.cluster.mutable_device()->mutable_rate();
  for (int i = rates->size(); i-- > 0;) {
    if (rates->Get(i).compute() == FP32) rates->erase(rates->begin() + i);
  }
  const RunResult run = Simulator(job).Run(1);
  for (const char* word :
       {"paper_v.prototxt:", "(the file has BF16)", "tflops", "--profile", "compute: FP32"}) {
    EXPECT_NE(run.guess.find(word), std::string::npos) << run.guess;
  }
  EXPECT_NE(run.guess.find(StrCat(run.one_device)), std::string::npos) << run.guess;
}

TEST(JobRunTest, ProfilesOfOtherNetsAreMistakes) {
  const ProfileConfig profile = ParseProfile(
      "net: \"n\" batch: 8 step_ms: 3 layer { name: \"nowhere\" backward_ms: 1 }", "p");
  SimulatedJob job = Job();
  job.profile = &profile;
  EXPECT_THROW(Simulator simulator(job), UserError);
}

}  // namespace
}  // namespace gf

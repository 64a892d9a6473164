#include "simulate/job_run.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <utility>

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

SimulatedJob JobWithPlaces(const std::vector<std::string>& overrides) {
  SimulatedJob job = Job(overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt", &job.cluster_places);
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

TEST(JobRunTest, ValidationsCountStepsAndTheStart) {
  const auto validation = [](int64_t steps, bool at_start) {
    SimulatedJob job = Job();
    job.config.clear_validation_interval_epochs();
    job.config.set_validation_interval_steps(steps);
    job.config.set_validate_at_start(at_start);
    return Simulator(job).Run(512).validation;
  };
  const double one = validation(1858, false);  // of 1858 steps
  EXPECT_GT(one, 0);
  EXPECT_NEAR(validation(5000, false), one, 1e-9 * one);
  EXPECT_NEAR(validation(929, false), 2 * one, 1e-9 * one);
  EXPECT_NEAR(validation(928, false), 3 * one, 1e-9 * one);  // the end is evaluated, too
  EXPECT_NEAR(validation(929, true), 3 * one, 1e-9 * one);
}

// Codes of 8 bits take 1.016 bytes, of 4 bits 0.516, gradients of BF16 2.
TEST(JobRunTest, QuantizedJobsSendTheBytesOfTheirCodes) {
  const auto run = [](const std::vector<std::string>& overrides) {
    SimulatedJob job = Job(overrides);
    job.cluster.mutable_node()->set_devices(1);
    return Simulator(job).Run(64);
  };
  const RunResult lazy = run({"comm.mode=LAZY"});
  const RunResult eight = run({"comm.mode=QUANTIZED"});
  const RunResult four = run({"comm.mode=QUANTIZED", "comm.quantized.bits=4"});
  const auto share = [&](const RunResult& quantized) {
    return static_cast<double>(quantized.sent_bytes) / static_cast<double>(lazy.sent_bytes);
  };
  EXPECT_NEAR(share(eight), (1 + 4 / 256.0) / 2, 1e-3);
  EXPECT_NEAR(share(four), (0.5 + 4 / 256.0) / 2, 1e-3);
  EXPECT_LT(four.communication, eight.communication);
  EXPECT_LT(eight.communication, lazy.communication);
  EXPECT_EQ(eight.warmup, 0);
  const RunResult rotated = run({"comm.mode=QUANTIZED", "comm.quantized.rotate=true"});
  EXPECT_EQ(rotated.step.total(), eight.step.total()) << "rotation moves no bytes";
}

// Eight devices share a card. Each sends 56 of its 64 parts to other nodes; in rings one device
// sends for all.
TEST(JobRunTest, AllToAllOfManyDevicesPerCardSendsMoreThanARing) {
  const auto card = [](const char* mode) {
    const RunResult run = Simulator(Job({mode})).Run(64);
    return run.traffic[static_cast<int>(LinkKind::kNic)] / static_cast<double>(run.sent_bytes);
  };
  EXPECT_NEAR(card("comm.mode=LAZY"), 2 * 63 / 64.0, 1e-3);
  EXPECT_NEAR(card("comm.mode=QUANTIZED"), 8 * 56 / 64.0 + 63 / 64.0, 1e-2);
}

// A round's end sends what a step of the other mode sends, and its steps share the bytes.
TEST(JobRunTest, StepsOfARoundShareTheExchange) {
  const auto run = [](const std::vector<std::string>& overrides, int steps) {
    SimulatedJob job = Job(overrides);
    job.config.mutable_comm()->mutable_periodic()->set_steps(steps);
    return Simulator(job).Run(64);
  };
  const RunResult lazy = run({"comm.mode=LAZY"}, 1);
  double before = lazy.step.total();
  for (const int steps : {1, 4, 16}) {
    const RunResult rounds = run({"comm.mode=PERIODIC"}, steps);
    EXPECT_EQ(rounds.sent_bytes, lazy.sent_bytes / steps);
    EXPECT_GT(rounds.warmup, 0);
    EXPECT_TRUE(steps == 1 || rounds.step.total() < before);
    before = rounds.step.total();
  }
  const RunResult sparse = run({"comm.mode=SPARSE"}, 1);
  const RunResult both = run({"comm.mode=PERIODIC", "comm.periodic.exchange=SPARSE"}, 4);
  EXPECT_EQ(both.sent_bytes, sparse.sent_bytes / 4);
  const RunResult outer = run({"comm.mode=PERIODIC", "comm.periodic.outer_momentum=0.9"}, 4);
  EXPECT_GT(outer.step.update, run({"comm.mode=PERIODIC"}, 4).step.update);
}

// Ranks that are slow in one step are not slow in the next.
TEST(JobRunTest, RanksWaitForEachOtherOncePerRound) {
  const auto compute = [](int steps) {
    SimulatedJob job = Job({"comm.mode=PERIODIC"});
    job.cluster.mutable_device()->set_jitter(0.1);
    job.config.mutable_comm()->mutable_periodic()->set_steps(steps);
    const StepParts step = Simulator(job).Run(64).step;
    return step.forward + step.backward;
  };
  SimulatedJob even = Job({"comm.mode=PERIODIC"});
  even.cluster.mutable_device()->set_jitter(0);
  const StepParts step = Simulator(even).Run(64).step;
  const double alone = step.forward + step.backward;
  const double lost = compute(1) - alone;
  EXPECT_GT(lost, 0);
  EXPECT_NEAR(compute(16) - alone, lost / 4, 1e-9);
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

// An all-to-all has 17 million messages; one by one they take some seconds.
TEST(JobRunTest, FourThousandRanksSendCodesWithinASecond) {
  SimulatedJob job = Job({"comm.mode=QUANTIZED"});
  const std::clock_t start = std::clock();
  EXPECT_GT(Simulator(job).Run(4096).images_per_s, 0);
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
}

TEST(JobRunTest, CompressorsMayBeSlowerThanMemory) {
  const auto backward = [](const char* mode, double times) {
    SimulatedJob job = Job({mode, "solver.type=SGD"});
    AcceleratorConfig* const device = job.cluster.mutable_device();
    if (times > 0) device->set_compressor_gb_s(times * device->memory_gb_s());
    const StepParts parts = Simulator(job).Run(2).step;
    return parts.forward + parts.backward;
  };
  for (const char* mode :
       {"comm.mode=SPARSE", "comm.mode=TOPK", "comm.mode=LOW_RANK", "comm.mode=QUANTIZED"}) {
    const double slower = backward(mode, 0.5) - backward(mode, 1);
    EXPECT_GT(slower, 1e-4) << mode;
    EXPECT_NEAR(backward(mode, 0.25) - backward(mode, 1), 3 * slower, 1e-3 * slower) << mode;
    EXPECT_EQ(backward(mode, 0), backward(mode, 1)) << mode;
  }
  EXPECT_EQ(backward("comm.mode=LAZY", 0.25), backward("comm.mode=LAZY", 1));
}

TEST(JobRunTest, AutoTakesARungOfTheLadder) {
  const auto run = [](double gb_s) {
    SimulatedJob job = Job({"comm.mode=AUTO", "compute_type=FP32"});
    job.cluster = ParseCluster(
        "node { devices: 1 device_link { gb_s: 1000 } nic { gb_s: 1 } }\n"
        "collective { protocol { hop_us: 1 } } device { memory_gb_s: 500 tflops: 10 }",
        "test");
    job.cluster.mutable_node()->mutable_nic()->set_gb_s(gb_s);
    return Simulator(job).Run(8);
  };
  const RunResult fast = run(500), slow = run(0.1);
  ASSERT_EQ(fast.choice.rungs.size(), slow.choice.rungs.size());
  EXPECT_EQ(fast.choice.rungs[fast.choice.chosen].name, "LAZY FP32");
  EXPECT_GT(slow.choice.chosen, 3);
  // The figures are those of the rung.
  const PricedRung& rung = slow.choice.rungs[slow.choice.chosen];
  EXPECT_EQ(slow.step.total(), rung.step);
  EXPECT_EQ(slow.sent_bytes, rung.bytes);
  EXPECT_LT(slow.step.total(), slow.choice.rungs[0].step);
  EXPECT_TRUE(Simulator(Job()).Run(8).choice.rungs.empty());
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

TEST(JobRunTest, TopkThatSendsAllIsNamed) {
  Simulator simulator(
      Job({"comm.mode=TOPK", "comm.topk.density=0.01", "compute_type=BF16", "solver.type=SGD"}));
  EXPECT_EQ(simulator.Run(64).advice, "");
  EXPECT_NE(simulator.Run(128).advice.find("TOPK equals LAZY"), std::string::npos);
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

TEST(JobRunTest, StepsHaveALimit) {
  SimulatedJob job = Job();
  job.steps = kMostSteps + 1;
  EXPECT_THROW(Simulator simulator(job), UserError);
}

TEST(JobRunTest, CostsFollowFromThePriceOfANode) {
  SimulatedJob job = Job();
  EXPECT_EQ(Simulator(job).Run(16).cost(), 0);
  job.cluster.mutable_run()->set_node_price_per_hour(7);
  const RunResult run = Simulator(job).Run(12);  // nodes of 8
  EXPECT_NEAR(run.cost(), 2 * 7 * run.training() / 3600, 1e-9);
  job.node_price_per_hour = 3.5;
  EXPECT_NEAR(Simulator(job).Run(12).cost(), run.cost() / 2, 1e-9);
  const auto axes = ParseSweep("ranks=12");
  EXPECT_NE(SweepCsv(axes, RunSweep(job, axes)).find(",cost,"), std::string::npos);
  job.node_price_per_hour = -1;
  EXPECT_THROW(Simulator simulator(job), UserError);
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
  EXPECT_EQ(ParseSweep("ranks=1..8 sparse.density=0.1,0.2").size(), 2u);
}

TEST(SweepTest, InvalidSweepsAreMistakes) {
  for (const char* text :
       {"", "ranks", "ranks=", "=3", "ranks=0", "ranks=1.5", "ranks=a..b", "ranks=8..1",
        "ranks=1,,2", "ranks=99999999", "a=1 b=2 c=3", "sparse.density=0.0000001..1e14",
        "ranks=-1..4", "ranks=1 mode=LAZY sparse.density=1 theta=1 nic=1gbit", "nic=25", "nic=gbit",
        "nic=1e9gbit", "nic=-1gbit", "uplink=nangbit"}) {
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

std::string ErrorOfSweep(const std::string& text) {
  try {
    ParseSweep(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepTest, FieldsAreNamedByTheEndOfTheirPath) {
  EXPECT_EQ(ParseSweep("sparse.density=0.1")[0].field, "comm.sparse.density");
  EXPECT_EQ(ParseSweep("topk.density=0.1")[0].field, "comm.topk.density");
  EXPECT_EQ(ParseSweep("sparse.density=0.1")[0].field, "comm.sparse.density");
  EXPECT_EQ(ParseSweep("batch_size=64")[0].field, "train_data.batch_size");
  EXPECT_EQ(ParseSweep("threshold=1M")[0].kind, SweepAxis::Kind::kTheta);
  EXPECT_EQ(ParseSweep("threshold_last=1M")[0].field, "comm.threshold_last");
  EXPECT_EQ(ParseSweep("max_epochs=1")[0].field, "solver.max_epochs");
  EXPECT_TRUE(HoldsBytes(ParseSweep("theta=1M")[0]));
  EXPECT_TRUE(HoldsBytes(ParseSweep("threshold_last=1M")[0]));
  EXPECT_FALSE(HoldsBytes(ParseSweep("ranks=4")[0]));
}

TEST(SweepTest, AmbiguousAndMisspelledNamesAreMistakes) {
  const std::string ambiguous = ErrorOfSweep("crop_size=224");
  EXPECT_NE(ambiguous.find("train_data.crop_size, validation_data.crop_size"), std::string::npos)
      << ambiguous;
  EXPECT_NE(ErrorOfSweep("modee=LAZY").find("did you mean \"mode\"?"), std::string::npos);
  EXPECT_NE(ErrorOfSweep("uplnk=1gbit").find("did you mean \"uplink\"?"), std::string::npos);
  EXPECT_NE(ErrorOfSweep("nic=25").find("25gbit"), std::string::npos);
}

TEST(SweepTest, LinksAreVaried) {
  SimulatedJob job = Job();
  const auto set = [&](const std::string& text) {
    const SweepAxis axis = ParseSweep(text)[0];
    ApplyValue(axis, axis.values[0], &job);
  };
  job.cluster.mutable_node()->mutable_nic()->set_background_gb_s(0.5);
  set("nic=25gbit");
  EXPECT_DOUBLE_EQ(job.cluster.node().nic().gb_s(), 3.125);
  EXPECT_THROW(set("nic=4gbit"), UserError);  // no more than the background
  set("nic=8000Mbit/s");
  EXPECT_DOUBLE_EQ(job.cluster.node().nic().gb_s(), 1);
  set("device_link=10gb_s");
  EXPECT_DOUBLE_EQ(job.cluster.node().device_link().gb_s(), 10);
  job.cluster.mutable_fabric()->clear_uplink();
  EXPECT_THROW(set("uplink=25gbit"), UserError);

  job = Job();
  job.ranks = 64;
  job.steps = 1;
  const auto axes = ParseSweep("nic=20gbit,100gbit theta=1M,16M mode=LAZY,SPARSE");
  const auto points = RunSweep(job, axes);
  ASSERT_EQ(points.size(), 8u);
  EXPECT_EQ(points[1].values, (std::vector<std::string>{"100gbit", "1048576", "LAZY"}));
  EXPECT_LT(2 * points[1].run.step.exposed, points[0].run.step.exposed);
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

TEST(SuggestTest, TriesTheShardedUpdateOfSolversWithoutNorms) {
  for (const auto& [type, tries] :
       {std::pair("SGD", true), std::pair("Adam", true), std::pair("LARS", false)}) {
    SimulatedJob job = Job({"comm.mode=LAZY", std::string("solver.type=") + type});
    job.ranks = 8;
    job.steps = 1;
    bool tried = false;
    for (const Suggestion& suggestion : Suggest(job)) {
      for (const std::string& setting : suggestion.settings) {
        tried = tried || setting == "comm.sharded_update=true";
      }
    }
    EXPECT_EQ(tried, tries) << type;
  }
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
  EXPECT_NE(json.find("\"simulated\":true"), std::string::npos);
}

}  // namespace
}  // namespace gf

#include "simulate/job_run.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/output_file.h"
#include "simulate/cluster.h"
#include "simulate/sweep.h"
#include "tests/simulate/job_for_test.h"

namespace gf {
namespace {

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

TEST(JobRunTest, ImagesMayHaveSeveralClasses) {
  std::string text = ReadSmallFile("models/alexnet_bn.prototxt", 1 << 20);
  const std::string loss = "SoftmaxWithLoss", net = testing::TempDir() + "/several.prototxt";
  text.replace(text.find(loss), loss.size(), "SigmoidCrossEntropyLoss");
  ReplaceFile(net, text);
  SimulatedJob job = Job({"net=" + net, "classes=1000", "train_data.labels.type=CLASSES",
                          "validation_data.labels.type=CLASSES"});
  job.config.clear_validation_data();  // Accuracy is for one class
  const double one_class = Simulator(Job()).Run(8).images_per_s;
  EXPECT_NEAR(Simulator(job).Run(8).images_per_s, one_class, 0.01 * one_class);
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
  const SimulatedJob at_end = Job({"validation_interval_epochs=0"});
  EXPECT_NEAR(Simulator(at_end).Run(512).validation, one, 1e-9 * one);
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

TEST(JobRunTest, TopkThatSendsAllIsNamed) {
  Simulator simulator(
      Job({"comm.mode=TOPK", "comm.topk.density=0.01", "compute_type=BF16", "solver.type=SGD"}));
  EXPECT_EQ(simulator.Run(64).advice, "");
  EXPECT_NE(simulator.Run(128).advice.find("TOPK equals LAZY"), std::string::npos);
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

}  // namespace
}  // namespace gf

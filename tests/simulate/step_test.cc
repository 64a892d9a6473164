#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/simulated_step.h"

namespace gf {
namespace {

// Three layers of 1,000 gradients each, 10 ms of forward, 10 ms of backward per layer. A bucket of
// 4,000 bytes takes 4 ms between two ranks.
struct Case {
  Case() {
    net.name = "three";
    for (const char* name : {"a", "b", "c"}) net.layers.push_back({name, "InnerProduct", {}, 0, 0});
    for (int k = 2; k >= 0; --k) {
      net.layers[k].entries = {2 - k};
      PoolEntry entry;
      entry.name = net.layers[k].name + ".weight";
      entry.shape = Shape{1024};
      net.layout.Add(entry);
    }
    ComputeTimes times;
    times.forward = {0.004, 0.003, 0.003};
    times.backward = {0.010, 0.010, 0.010};
    setup.layout = &net.layout;
    setup.compute = ComputeOf(net, times);
    setup.memory_bytes_per_s = 1e12;
    setup.algorithm = "ring";
    cluster = ParseCluster(
        "node { devices: 1 device_link { gb_s: 1000 } nic { gb_s: 0.001024 } }\n"
        "collective { protocol { hop_us: 0 } } device { memory_gb_s: 500 }",
        "two");
  }

  SimulatedStep Run(CommConfig::Mode mode, std::vector<double> factors = {1, 1},
                    bool overlap = true) {
    CommConfig comm;
    comm.set_mode(mode);
    comm.set_overlap(overlap);
    comm.set_threshold_first(8192);
    comm.set_threshold_middle(8192);
    comm.set_threshold_last(0);
    Pricer pricer(cluster, static_cast<int>(factors.size()));
    return SimulateStep(setup, DenseSchedule(net.layout, comm, 4), factors, &pricer, true);
  }

  NetModel net;
  SimulatedSetup setup;
  ClusterConfig cluster;
};

constexpr double kTiny = 1e-4;  // the links between device and card take a little

// SPARSE writes them before the forward pass.
TEST(StepTest, WeightsThatAreAheadTakeTimeBeforeForward) {
  Case c;
  c.setup.memory_bytes_per_s = 1e6;
  CommConfig comm;
  Pricer pricer(c.cluster, 2);
  BucketSchedule schedule = DenseSchedule(c.net.layout, comm, 4);
  const auto forward = [&](bool sparse, double density, double ahead) {
    c.setup.traffic.ahead = ahead;
    schedule.sparse = sparse;
    schedule.density = density;
    return SimulateStep(c.setup, schedule, {1, 1}, &pricer, true).parts.forward;
  };
  const double plain = forward(true, 0.25, 0);
  EXPECT_NEAR(forward(true, 0.25, 12) - plain, 0.75 * 3 * 1024 * 12 / 1e6, 1e-9);
  EXPECT_EQ(forward(true, 1, 12), plain);
  EXPECT_EQ(forward(false, 0.25, 12), plain);
  // For weights of 4 bytes the update writes the copy, too.
  EXPECT_EQ(TrafficWith({}, FP32, true).ahead, 12);
  EXPECT_EQ(TrafficWith({}, FP32, true).update, 4);
  EXPECT_EQ(TrafficWith({}, FP16, true).ahead, 10);
  EXPECT_EQ(TrafficWith({}, FP16, true).update, 0);
  EXPECT_EQ(TrafficWith({}, FP32, false).ahead, 0);
}

TEST(StepTest, CommunicationHiddenByBackwardIsNotExposed) {
  const StepParts parts = Case().Run(CommConfig::PER_TENSOR).parts;
  EXPECT_NEAR(parts.forward, 0.010, 1e-12);
  EXPECT_NEAR(parts.backward, 0.030, 1e-12);
  EXPECT_NEAR(parts.exposed, 0.004, kTiny);  // the last tensor's
  EXPECT_NEAR(parts.total(), 0.044, kTiny);
}

// Gradients travel in the last batch's backward pass, whatever came before.
TEST(StepTest, EarlierBatchesOnlyComputeBefore) {
  Case c;
  const StepParts one = c.Run(CommConfig::PER_TENSOR, {1, 1.5}).parts;
  c.setup.compute.data = 0.002;
  c.setup.compute.batches = 3;
  const SimulatedStep step = c.Run(CommConfig::PER_TENSOR, {1, 1.5});
  EXPECT_NEAR(step.parts.data, 3 * 0.002 * 1.5, 1e-9);
  EXPECT_NEAR(step.parts.forward, 3 * one.forward, 1e-9);
  EXPECT_NEAR(step.parts.backward, 3 * one.backward, 1e-9);
  EXPECT_NEAR(step.parts.exposed, one.exposed, 1e-9);
  EXPECT_NEAR(step.parts.update, one.update, 1e-9);
  EXPECT_TRUE(std::any_of(step.spans.begin(), step.spans.end(), [](const Span& span) {
    return span.name == "earlier batches and forward" && span.begin == 0;
  }));
}

// 3,072 gradients are added to the sum once per earlier batch, and merged before they travel.
TEST(StepTest, SumsOfGradientsTakeTime) {
  Case c;
  c.setup.memory_bytes_per_s = 1e6;
  c.setup.compute.batches = 3;
  const StepParts free = c.Run(CommConfig::LAZY).parts;
  c.setup.traffic.add = 12;
  c.setup.traffic.merge = 16;
  const StepParts step = c.Run(CommConfig::LAZY).parts;
  EXPECT_NEAR(step.backward - free.backward, 3072 * (2 * 12 + 16) / 1e6, 1e-9);
  EXPECT_NEAR(step.forward, free.forward, 1e-9);
}

TEST(StepTest, WithoutOverlapEverythingIsExposed) {
  EXPECT_NEAR(Case().Run(CommConfig::PER_TENSOR, {1, 1}, false).parts.exposed, 0.012, kTiny);
  EXPECT_NEAR(Case().Run(CommConfig::AFTER_BACKWARD).parts.exposed, 0.012, kTiny);
}

TEST(StepTest, LazySendsTheProductsBuckets) {
  const SimulatedStep step = Case().Run(CommConfig::LAZY);
  std::vector<std::string> names;
  for (const Span& span : step.spans) {
    if (span.lane == "bucket transfer") names.push_back(span.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"c.weight to b.weight", "a.weight"}));
  EXPECT_EQ(step.sent_bytes, 3 * 4096);
}

TEST(StepTest, TheSlowestRankHoldsUpAll) {
  const StepParts parts = Case().Run(CommConfig::PER_TENSOR, {1, 1.5}).parts;
  EXPECT_NEAR(parts.total(), 0.060 + 0.004, kTiny);
}

// The first sum is ready as its layer ends; the second one waits until the layer under way ends.
TEST(StepTest, CollectivesWaitForTheLayerUnderWay) {
  Case waits;
  waits.setup.waits_for_layer = true;
  waits.cluster.mutable_node()->mutable_nic()->set_gb_s(0.001024 / 3);  // 12 ms each
  const SimulatedStep step = waits.Run(CommConfig::PER_TENSOR);
  std::vector<double> begins;
  for (const Span& span : step.spans) {
    if (span.lane == "bucket transfer") begins.push_back(span.begin);
  }
  ASSERT_EQ(begins.size(), 3u);
  EXPECT_NEAR(begins[0], 0.020, kTiny);
  EXPECT_NEAR(begins[1], 0.040, kTiny);  // free at 0.032
  EXPECT_NEAR(begins[2], 0.052, kTiny);
}

TEST(StepTest, RunningCollectivesSlowComputeDown) {
  Case slow;
  slow.setup.compute_lost = 0.5;
  // Two sums of 4 ms run during backward, which loses 2 ms to each.
  EXPECT_NEAR(slow.Run(CommConfig::PER_TENSOR).parts.backward, 0.034, kTiny);
}

TEST(StepTest, ComputeSlowsCollectivesDown) {
  Case slow;
  slow.cluster.mutable_collective()->mutable_protocol(0)->set_rate_lost(0.5);
  EXPECT_NEAR(slow.Run(CommConfig::PER_TENSOR).communication, 0.008 + 0.008 + 0.004, kTiny);
  slow.cluster.mutable_node()->mutable_nic()->set_gb_s(0.001024 / 3);  // 12 ms each
  // The first has 20 ms beside backward, in which 10 of its 12 pass.
  const SimulatedStep step = slow.Run(CommConfig::PER_TENSOR);
  EXPECT_NEAR(step.communication, 0.022 + 0.012 + 0.012, kTiny);
  EXPECT_NEAR(step.parts.exposed, 0.026, kTiny);
}

TEST(StepTest, UpdatesComeAfterTheirBucketAndSparseStepsUpdateLess) {
  Case update;
  update.setup.traffic = {1e6, 0, 0};  // 1 us per element
  const StepParts dense = update.Run(CommConfig::PER_TENSOR).parts;
  EXPECT_NEAR(dense.update, 3 * 1.024e-3, 1e-9);
  // Two updates run while the last tensor travels.
  EXPECT_NEAR(dense.total(), 0.044 + 1.024e-3, kTiny);
  CommConfig comm;
  comm.mutable_sparse()->set_chunk_size(32);
  comm.mutable_sparse()->set_density(0.25);
  comm.set_threshold_first(0);
  comm.set_threshold_middle(0);
  Pricer pricer(update.cluster, 2);
  const SimulatedStep sparse =
      SimulateStep(update.setup, SparseSchedule(update.net.layout, comm, 4, 0.25), {1, 1}, &pricer);
  EXPECT_NEAR(sparse.parts.update, 0.25 * dense.update, 1e-9);
  EXPECT_EQ(sparse.sent_bytes, 3 * 4096 / 4 + 96 * 4);  // and a norm per chunk
}

TEST(StepTest, ErrorFeedbackTakesTimeDuringBackward) {
  Case feedback;
  feedback.setup.traffic.round = 1e6;  // 1 us per element
  CommConfig comm;
  comm.set_mode(CommConfig::PER_TENSOR);
  comm.set_wire_type(CommConfig::BF16);
  BucketSchedule schedule = DenseSchedule(feedback.net.layout, comm, 4);
  const auto backward = [&](int world) {
    Pricer pricer(feedback.cluster, world);
    const std::vector<double> factors(world, 1.0);
    return SimulateStep(feedback.setup, schedule, factors, &pricer).parts.backward;
  };
  const double without = backward(2);
  comm.set_error_feedback(true);
  schedule = DenseSchedule(feedback.net.layout, comm, 4);
  EXPECT_NEAR(backward(2), without + 3 * 1.024e-3, kTiny);
  EXPECT_NEAR(backward(1), without, kTiny) << "nothing travels";
}

TEST(StepTest, TopkGathersAndAccumulates) {
  Case topk;
  topk.setup.traffic.accumulate = 1e6;  // 1 us per element
  BucketSchedule dense, gathered;
  dense.sends = {{2, 1024, "all"}};
  gathered.sends = {{2, 1024, "all", 2048}};
  gathered.topk = true;
  Pricer pricer(topk.cluster, 2);
  const SimulatedStep a = SimulateStep(topk.setup, dense, {1, 1}, &pricer);
  const SimulatedStep b = SimulateStep(topk.setup, gathered, {1, 1}, &pricer);
  EXPECT_NEAR(b.parts.backward, a.parts.backward + 3 * 1.024e-3, kTiny);
  EXPECT_EQ(a.sent_bytes, 4096);
  EXPECT_EQ(b.sent_bytes, 1024);
  EXPECT_NEAR(b.communication, pricer.Seconds(Pricer::kAllGather, 2048), kTiny);
}

TEST(StepTest, FactorsTakeTwoRounds) {
  Case factors;
  factors.setup.traffic.project = 1e6;  // 1 us per element
  factors.setup.traffic.correlate = 2e6;
  factors.setup.traffic.expand = 3e6;
  BucketSchedule dense, low_rank;
  dense.sends = {{2, 1024, "all"}};
  low_rank.sends = {{2, 0, "left", 0, 512}};
  low_rank.low_rank = true;
  low_rank.last = {0, 1024, "right", 0, 256};
  Pricer pricer(factors.cluster, 2);
  const SimulatedStep a = SimulateStep(factors.setup, dense, {1, 1}, &pricer);
  const SimulatedStep b = SimulateStep(factors.setup, low_rank, {1, 1}, &pricer);
  EXPECT_NEAR(b.parts.backward, a.parts.backward + 3 * 1.024e-3, kTiny);
  EXPECT_NEAR(b.parts.update, 5 * 1.024e-3, kTiny);
  EXPECT_EQ(b.sent_bytes, 512 + 256);
  EXPECT_NEAR(b.communication, pricer.Seconds("ring", 512) + pricer.Seconds("ring", 256), 1e-4);
  EXPECT_NEAR(b.parts.total(),
              b.parts.forward + b.parts.backward + b.parts.exposed + b.parts.update + b.parts.data,
              kTiny);
}

// The update keeps the memory's rate.
TEST(StepTest, ACompressorsArithmeticHasARateOfItsOwn) {
  Case c;
  c.setup.traffic.update = 20;
  c.setup.traffic.ahead = c.setup.traffic.keep = c.setup.traffic.accumulate = 8;
  c.setup.traffic.project = c.setup.traffic.correlate = c.setup.traffic.expand = 8;
  c.setup.traffic.encode = c.setup.traffic.decode = c.setup.traffic.keep_lost = 8;
  c.setup.traffic.pack = c.setup.traffic.round = 8;
  c.setup.memory_bytes_per_s = 1e9;
  Pricer pricer(c.cluster, 2);
  const auto step_s = [&](const BucketSchedule& schedule, double rate) {
    c.setup.compressor_bytes_per_s = rate;
    return SimulateStep(c.setup, schedule, {1, 1}, &pricer).parts.total();
  };
  // Bytes per element that the compressor moves.
  const auto bytes = [&](const BucketSchedule& schedule) {
    return (step_s(schedule, 1e6) - step_s(schedule, 0)) * (1e6 / (1 - 1e-3)) / (3 * 1024);
  };
  BucketSchedule schedule;
  schedule.sends = {{2, 3 * 1024, "all"}};
  EXPECT_NEAR(bytes(schedule), 0, 1e-6);
  schedule.topk = true;
  EXPECT_NEAR(bytes(schedule), 8, 1e-6);
  schedule.topk = false;
  schedule.sparse = true;
  schedule.density = 0.25;
  EXPECT_NEAR(bytes(schedule), 8 + 0.25 * 8 + 0.75 * 8, 1e-6);
  schedule.sparse = false;
  schedule.feedback = true;
  EXPECT_NEAR(bytes(schedule), 8, 1e-6);
  schedule.feedback = false;
  schedule.low_rank = true;
  schedule.sends = {{2, 0, "left", 0, 512}};
  schedule.last = {0, 3 * 1024, "right", 0, 256};
  EXPECT_NEAR(bytes(schedule), 3 * 8, 1e-6);
  schedule.low_rank = false;
  schedule.last = Send();
  schedule.sends = {{2, 3 * 1024, "all", 0, -1, 3 * 1024}};
  schedule.code_bytes = 1;
  EXPECT_NEAR(bytes(schedule), 8 + 1 + 8 + 8 / 2 + 1.5 + 2, 1e-6) << "encoding, the sum, decoding";
  c.setup.memory_bytes_per_s = 1e6;
  EXPECT_NEAR(step_s(schedule, 0), step_s(schedule, 1e6), 1e-12) << "as the memory";
}

TEST(StepTest, CodesGoToAllAndTheirSumsComeBack) {
  Case codes;
  codes.setup.memory_bytes_per_s = 1e6;  // 1 us per byte
  codes.setup.traffic.encode = 0.5;      // bytes per element
  codes.setup.traffic.decode = 0.25;
  codes.setup.traffic.keep_lost = 0.5;
  BucketSchedule dense, quantized;
  dense.sends = {{2, 1024, "all"}};
  quantized.sends = {{2, 1024, "all", 0, -1, 2048}};
  quantized.code_bytes = 0.5;
  Pricer pricer(codes.cluster, 2);
  const SimulatedStep a = SimulateStep(codes.setup, dense, {1, 1}, &pricer);
  const SimulatedStep b = SimulateStep(codes.setup, quantized, {1, 1}, &pricer, true);
  EXPECT_NEAR(b.parts.backward, a.parts.backward + 3 * 1.024e-3, kTiny);
  // A rank reads two ranks' codes of its half and writes the codes of the sum.
  const double sum = 2048e-6 + 1024e-6;
  const double sent =
      pricer.Seconds(Pricer::kAllToAll, 2048) + pricer.Seconds(Pricer::kAllGather, 2048);
  EXPECT_NEAR(b.communication, sent + sum, 1e-9);
  EXPECT_NEAR(b.parts.exposed, sent + sum, 1e-9);
  EXPECT_EQ(b.sent_bytes, 2048) << "two halves, like an allreduce";
  EXPECT_NEAR(b.traffic[static_cast<int>(LinkKind::kNic)], 2 * 1024, 1e-9);
  // Decoding reads the sums and the codes of the rank's half, and keeps what the sum of it lost.
  EXPECT_NEAR(b.parts.update, a.parts.update + 2 * 2048e-6 + (0.25 + 0.5 / 2) * 1.024e-3, 1e-9);
  std::vector<int64_t> bytes;
  for (const Span& span : b.spans) {
    if (span.lane == "bucket transfer") bytes.push_back(span.bytes);
  }
  EXPECT_EQ(bytes, (std::vector<int64_t>{2 * 2048})) << "one transfer with both directions";
}

TEST(StepTest, AShardedUpdateIsDividedAmongRanks) {
  Case sharded;
  sharded.setup.traffic = {1e6, 0, 0};
  CommConfig comm;
  comm.set_mode(CommConfig::PER_TENSOR);
  comm.set_sharded_update(true);
  Pricer pricer(sharded.cluster, 2);
  const SimulatedStep step =
      SimulateStep(sharded.setup, DenseSchedule(sharded.net.layout, comm, 4), {1, 1}, &pricer);
  EXPECT_NEAR(step.parts.update, 3 * 1.024e-3 / 2, 1e-9);
  EXPECT_EQ(step.sent_bytes, 3 * 4096);  // two halves of an allreduce
}

TEST(JitterTest, IsAFunctionOfSeedAndStep) {
  EXPECT_EQ(JitterOf(0.1, 64, 1, 0), JitterOf(0.1, 64, 1, 0));
  EXPECT_NE(JitterOf(0.1, 64, 1, 0), JitterOf(0.1, 64, 2, 0));
  EXPECT_NE(JitterOf(0.1, 64, 1, 0), JitterOf(0.1, 64, 1, 1));
  EXPECT_EQ(JitterOf(0, 3, 1, 0), (std::vector<double>{1, 1, 1}));
  const std::vector<double> many = JitterOf(0.1, 4096, 1, 0);
  EXPECT_NEAR(*std::max_element(many.begin(), many.end()), 1.35, 0.1);  // 3.5 deviations
}

}  // namespace
}  // namespace gf

// Layers' times that are estimated for a GPU.

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/error.h"
#include "core/estimate/price.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"
#include "simulate/sweep.h"
#include "simulate/trace.h"
#include "solvers/estimate/step_estimate.h"

namespace gf {
namespace {

SimulatedJob Job(const std::vector<std::string>& overrides = {}, const std::string& gpu = "h200") {
  SimulatedJob job;
  job.config = ReadJobConfig("tests/simulate/paper_alexnet.prototxt", overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt");
  job.cluster.mutable_device()->set_jitter(0);
  job.gpu = &FindGpu("--gpu", gpu);
  return job;
}

// Forward, backward and update of a step without an exchange.
struct Seconds {
  double forward = 0, backward = 0, update = 0;
};

Seconds SecondsOf(const SimulatedJob& job) {
  NetOptions options;
  options.compute = ToDType(job.config.compute_type());
  options.batch_size = job.config.train_data().batch_size();
  const StepEstimate step =
      EstimateStep(ReadNet(job.config.net()), options, job.config.solver(), *job.gpu);
  Seconds seconds;
  for (const Operation& operation : step.operations) {
    const OperationTime time = AssumedTime(operation, *job.gpu);
    if (operation.kind == OperationKind::kUpdate) {
      seconds.update += time.memory;
    } else {
      (operation.backward ? seconds.backward : seconds.forward) += time.total();
    }
  }
  return seconds;
}

TEST(EstimatedTimesTest, AStepOfOneRankEqualsItsEstimate) {
  for (const char* compute : {"compute_type=FP16", "compute_type=BF16", "compute_type=FP32"}) {
    const SimulatedJob job = Job({compute});
    const RunResult run = Simulator(job).Run(1);
    const Seconds seconds = SecondsOf(job);
    EXPECT_NEAR(run.step.forward / seconds.forward, 1, 1e-9) << compute;
    EXPECT_NEAR(run.step.backward / seconds.backward, 1, 1e-9) << compute;
    // The pool's gaps are not counted there.
    EXPECT_NEAR(run.step.update / seconds.update, 1, 1e-3) << compute;
    EXPECT_EQ(run.step.data, 0);
    EXPECT_EQ(run.layer_times, "estimate for h200");
    EXPECT_NEAR(run.one_device, 128 / run.step.total(), 1e-3 * run.one_device);
  }
}

TEST(EstimatedTimesTest, NeitherProfileNorRateOfTheClusterCounts) {
  SimulatedJob job = Job();
  const double step = Simulator(job).Run(1).step.total();
  AcceleratorConfig* const device = job.cluster.mutable_device();
  device->clear_rate();
  device->clear_tflops();
  device->set_memory_gb_s(1);
  EXPECT_EQ(Simulator(job).Run(1).step.total(), step);
  const ProfileConfig profile = ReadProfile("configs/profiles/alexnet_bn_volta.prototxt");
  job.profile = &profile;
  EXPECT_THROW(Simulator(job).Run(1), UserError);
}

TEST(EstimatedTimesTest, SlowerGpusTakeLonger) {
  const auto seconds = [](const std::string& gpu) {
    return Simulator(Job({"compute_type=FP16"}, gpu)).Run(1).step.total();
  };
  EXPECT_GT(seconds("h100"), 1.05 * seconds("h200"));
  EXPECT_GT(seconds("t4"), 8 * seconds("h200"));
}

TEST(EstimatedTimesTest, CompressorsHaveTheRateOfTheCluster) {
  const auto seconds = [](double gb_s) {
    SimulatedJob job = Job({"compute_type=FP16", "comm.mode=TOPK", "solver.type=SGD"});
    if (gb_s > 0) job.cluster.mutable_device()->set_compressor_gb_s(gb_s);
    return Simulator(job).Run(2).step.total();
  };
  EXPECT_GT(seconds(10), 2 * seconds(0));
}

TEST(EstimatedTimesTest, LayersHaveTheirOwn) {
  const SimulatedJob job = Job({"compute_type=FP16"});
  const NetSource source = ReadNet(job.config.net());
  const NetModel net = ModelOf(source, 128, {});
  const ComputeTimes times =
      EstimatedTimes(net, source, {}, job.config, *job.gpu, TrafficOf(job.config.solver(), FP16));
  EXPECT_EQ(times.other, 0);
  ASSERT_EQ(times.forward.size(), net.layers.size());
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const LayerModel& layer = net.layers[i];
    // The compiled net has put these into their neighbors.
    const bool fused = layer.type == "ReLU";
    EXPECT_EQ(times.forward[i] == 0, fused) << layer.name;
    EXPECT_EQ(times.backward[i] == 0, fused || layer.type == "Input") << layer.name;
    if (layer.name != "conv3") continue;
    // Products bound it: 2 * 128 * 169 * 384 * 256 * 9 FLOP at 60 % of 989.5 TFLOP/s, once forward,
    // twice backward; y and dy of 2 * 128 * 169 * 384 bytes are read and dy is written at 80 % of
    // 4.8 TB/s; and launches of 2 us.
    const double product = 2. * 128 * 169 * 384 * 256 * 9 / (0.6 * 989.5e12);
    const double bias = 3 * 2. * 128 * 169 * 384 / (0.8 * 4.8e12);
    EXPECT_NEAR(times.forward[i], product + 2e-6, 1e-12);
    EXPECT_NEAR(times.backward[i], 2 * product + bias + 3 * 2e-6, 1e-12);
  }
}

TEST(EstimatedTimesTest, UpdatesMoveTheSameBytesAsGpuSolvers) {
  for (const char* type :
       {"SGD", "LARS", "LARC", "LAMB", "Adam", "AdamW", "AdaGrad", "RMSProp", "AdaDelta", "Muon"}) {
    for (const ComputeType compute : {FP32, FP16, BF16}) {
      SolverConfig solver;
      solver.set_type(type);
      NetOptions options;
      options.compute = ToDType(compute);
      const StepEstimate step = EstimateStep(ReadNet("models/resnet20_cifar.prototxt"), options,
                                             solver, FindGpu("", "h200"));
      double bytes = 0;
      for (const Operation& operation : step.operations) {
        if (operation.kind == OperationKind::kUpdate) bytes += static_cast<double>(operation.bytes);
      }
      // The pool has gaps.
      EXPECT_NEAR(bytes / static_cast<double>(step.parameters) / TrafficOf(solver, compute).update,
                  1, 0.01)
          << type << " " << ComputeType_Name(compute);
    }
  }
}

TEST(EstimatedTimesTest, MuonsProductsTakeTime) {
  for (const char* compute : {"compute_type=FP32", "compute_type=BF16"}) {
    const SimulatedJob job = Job({compute, "solver.type=Muon", "comm.mode=LAZY"});
    NetOptions options;
    options.compute = ToDType(job.config.compute_type());
    options.batch_size = job.config.train_data().batch_size();
    const StepEstimate step =
        EstimateStep(ReadNet(job.config.net()), options, job.config.solver(), *job.gpu);
    OperationTime update;
    for (const Operation& operation : step.operations) {
      if (operation.kind == OperationKind::kUpdate) update += AssumedTime(operation, *job.gpu);
    }
    EXPECT_GT(update.arithmetic, update.memory) << compute;
    EXPECT_NEAR(Simulator(job).Run(1).step.update / (update.memory + update.arithmetic), 1, 0.01)
        << compute;
  }
}

TEST(EstimatedTimesTest, MuonsProductsNeedTheRateOfTheCluster) {
  SimulatedJob job = Job({"solver.type=Muon", "comm.mode=LAZY"});
  job.gpu = nullptr;
  const double fast = Simulator(job).Run(1).step.update;
  AcceleratorConfig* const device = job.cluster.mutable_device();
  device->set_tflops(device->tflops() / 2);
  EXPECT_GT(Simulator(job).Run(1).step.update, 1.5 * fast);
  const ProfileConfig profile = ReadProfile("configs/profiles/alexnet_bn_volta.prototxt");
  job.profile = &profile;
  device->clear_tflops();
  try {
    Simulator(job).Run(1);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()),
              "device.tflops is missing: solver.type Muon multiplies matrices in each update");
  }
}

TEST(EstimatedTimesTest, AnAverageMovesTwelveBytesPerParameter) {
  SolverConfig solver;
  const double plain = TrafficOf(solver, FP32).update;
  solver.mutable_average()->set_decay(0.9);
  EXPECT_DOUBLE_EQ(TrafficOf(solver, FP32).update, plain + 12);
  solver.mutable_average()->set_interval_steps(4);
  EXPECT_DOUBLE_EQ(TrafficOf(solver, FP32).update, plain + 3);
  solver.mutable_average()->set_lookahead(true);
  EXPECT_DOUBLE_EQ(TrafficOf(solver, FP32).update, plain + 6);
}

TEST(EstimatedTimesTest, ResultsSayThatTheyAreEstimates) {
  const SimulatedJob job = Job();
  const auto axes = ParseSweep("ranks=1,2");
  const std::string csv = SweepCsv(axes, RunSweep(job, axes));
  EXPECT_NE(csv.find(",layer_times\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",estimate for h200\n"), std::string::npos) << csv;
  const std::string json =
      TraceJson(Simulator(job).Trace(), job.cluster.node(), 1, LayerTimesOf(job));
  EXPECT_NE(json.find("\"layer_times\":\"estimate for h200\""), std::string::npos);
}

}  // namespace
}  // namespace gf

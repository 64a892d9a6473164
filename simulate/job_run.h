#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "simulate/step.h"

namespace gf {

// A job on a cluster.
struct SimulatedJob {
  JobConfig config;
  ClusterConfig cluster;
  const ProfileConfig* profile = nullptr;  // may be null
  // In place of a profile and of the cluster's rates: the layers' times are estimated for this GPU.
  const Gpu* gpu = nullptr;
  int ranks = 0;  // 0 = the cluster's
  uint64_t seed = 1;
  int steps = 8;  // simulated, with different jitter; means are told
  int64_t train_images = 1281167, validation_images = 50000;  // ImageNet's
};

// "estimate for h200", "profile" or "shared out by FLOPs and bytes".
std::string LayerTimesOf(const SimulatedJob& job);

// Means over the simulated steps of the final density.
struct RunResult {
  int ranks = 1, nodes = 1;
  int batch = 1;            // images per rank and step
  std::string layer_times;  // where those of the layers are from
  StepParts step;
  double communication = 0;  // seconds per step in which a collective ran
  int64_t sent_bytes = 0;
  std::array<double, kLinkKinds> traffic = {};  // bytes per step, see StepResult
  double images_per_s = 0;
  double one_device = 0;  // images/s of a device that exchanges nothing
  double speedup() const { return images_per_s / one_device; }
  double efficiency() const { return speedup() / ranks; }

  // The whole training, in seconds.
  int64_t train_images = 0, total_steps = 0;
  double startup = 0, warmup = 0, steady = 0, validation = 0;
  double training() const { return startup + warmup + steady + validation; }
};

// What a job's network, config and cluster come to; reads the net. For several numbers of ranks.
class Simulator {
 public:
  // Throws UserError.
  explicit Simulator(const SimulatedJob& job);
  ~Simulator();

  // `ranks`: 0 = the job's. Throws UserError.
  RunResult Run(int ranks = 0);
  // One step with its spans, on the job's ranks.
  StepResult Trace();

  const NetModel& net() const { return net_; }
  const SimulatedJob& job() const { return job_; }

 private:
  RunResult RunWith(Pricer* pricer);
  StepSetup SetupFor(int nodes) const;
  // The mean of the job's steps at a density.
  StepResult Mean(double density, Pricer* pricer) const;
  int RanksOf(int ranks) const;

  SimulatedJob job_;
  NetModel net_;
  ComputeTimes times_;
  UpdateTraffic traffic_;
  double memory_bytes_per_s_ = 0;
  int64_t wire_bytes_ = 4;
};

}  // namespace gf

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/flow/exchange_choice.h"
#include "core/config/config.h"
#include "simulate/simulated_step.h"

namespace gf {

// Maximum number of simulated steps.
constexpr int kMostSteps = 10000;

// A job on a cluster.
struct SimulatedJob {
  JobConfig config;
  ClusterConfig cluster;
  Places cluster_places;                   // of its file, for warnings
  const ProfileConfig* profile = nullptr;  // may be null
  // If set, layer times are estimated for this GPU instead of taken from a profile or the cluster's
  // rates.
  const Gpu* gpu = nullptr;
  int ranks = 0;  // 0 = the cluster's number
  uint64_t seed = 1;
  int steps = 8;  // number of simulated steps with different jitter; results are means
  double node_price_per_hour = 0;                             // 0 = the cluster's
  int64_t train_images = 1281167, validation_images = 50000;  // ImageNet's
};

// "estimate for h200", "profile" or "estimated from FLOPs and bytes".
std::string LayerTimesOf(const SimulatedJob& job);

// Means over the simulated steps at the final density.
struct RunResult {
  int ranks = 1, nodes = 1;
  int batch = 1;            // images per rank and step
  std::string layer_times;  // source of the layer times, see LayerTimesOf
  std::string guess;        // see ComputeTimes
  std::string advice;       // for people: a setting that has no effect; empty = none
  StepParts step;
  ExchangeChoice choice;     // of comm.mode AUTO; without rungs: of another mode
  double communication = 0;  // seconds per step in which a collective ran
  int64_t sent_bytes = 0;
  std::array<double, kLinkKinds> traffic = {};  // bytes per step, see StepResult
  double images_per_s = 0;
  double one_device = 0;  // images/s of a single device, without communication
  double speedup() const { return images_per_s / one_device; }
  double efficiency() const { return speedup() / ranks; }

  // The whole training, in seconds.
  int64_t train_images = 0, total_steps = 0;
  double startup = 0, warmup = 0, steady = 0, validation = 0;
  double training() const { return startup + warmup + steady + validation; }

  double node_price_per_hour = 0;  // 0 = unknown
  // Of the whole training, in the price's currency.
  double cost() const { return nodes * node_price_per_hour * training() / 3600; }
};

// Simulates a job's network and config on a cluster, for any number of ranks.
class Simulator {
 public:
  // Reads the net. Throws UserError for mistakes in the job.
  explicit Simulator(const SimulatedJob& job);
  ~Simulator();

  // `ranks`: 0 = the job's number. Throws UserError.
  RunResult Run(int ranks = 0);
  // Simulates one step with its spans, on the job's number of ranks.
  SimulatedStep Trace();

  const NetModel& net() const { return net_; }
  const SimulatedJob& job() const { return job_; }

 private:
  RunResult RunWith(Pricer* pricer);
  // The type that travels.
  DType WireOf(const CommConfig& comm) const;
  SimulatedSetup SetupFor(const CommConfig& comm, int world) const;
  // Mean of the job's steps with this exchange at a density.
  SimulatedStep Mean(const CommConfig& comm, double density, Pricer* pricer) const;
  // The job's comm; of mode AUTO the rung that it takes there, with its reasons in `choice`.
  CommConfig Choose(Pricer* pricer, ExchangeChoice* choice) const;
  // Adds to each step of a round its share of the round's end.
  void AddRoundEnd(const SimulatedSetup& setup, Pricer* pricer, SimulatedStep* mean) const;
  int RanksOf(int ranks) const;

  SimulatedJob job_;
  NetModel net_;
  ComputeTimes times_;
  UpdateTraffic traffic_;
  double memory_bytes_per_s_ = 0;
  double compressor_bytes_per_s_ = 0;  // 0: memory_bytes_per_s_
};

}  // namespace gf

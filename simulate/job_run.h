#pragma once

#include <cstdint>
#include <map>
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

// Consecutive steps on images of one size, with one number of batches
// (train_data.size_phase, solver.batch_phase).
struct TrainingPhase {
  int64_t first_step = 0;  // the first step of training is 0
  int64_t step_images = 0;
  int64_t crop_size = 0;  // height and width of the images; 0 = as the net or the data says
  double step = 0;        // seconds of a step, at the final density
};

// Means over the simulated steps of the first phase at the final density.
struct RunResult {
  int ranks = 1, nodes = 1;
  int64_t step_images = 1;  // of all ranks
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
  std::vector<TrainingPhase> phases;  // those that have steps
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
  // The compute of a step on a rank.
  struct Work {
    const ComputeTimes* times;
    int batches = 1;
    double seconds() const { return batches * (times->step() - times->update) + times->update; }
  };

  RunResult RunWith(Pricer* pricer);
  // The type that travels.
  DType WireOf(const CommConfig& comm) const;
  SimulatedSetup SetupFor(const CommConfig& comm, const Work& work, int world) const;
  // Mean of the job's steps with this exchange at a density.
  SimulatedStep Mean(const CommConfig& comm, double density, const Work& work,
                     Pricer* pricer) const;
  // In the first step of training.
  Work FirstWork() const;
  // Fills times_of_size_ and validation_times_.
  void AddSizes(const NetSource& source);
  // Adds the times of the whole training to a result. `comm`: as Choose returns it.
  void AddTraining(const CommConfig& comm, Pricer* pricer, RunResult* result) const;
  // Seconds of one validation.
  double ValidationTime(int ranks) const;
  // The job's comm; of mode AUTO the rung that it takes there, with its reasons in `choice`.
  CommConfig Choose(Pricer* pricer, ExchangeChoice* choice) const;
  // Adds to each step of a round its share of the round's end.
  void AddRoundEnd(const SimulatedSetup& setup, Pricer* pricer, SimulatedStep* mean) const;
  int RanksOf(int ranks) const;

  SimulatedJob job_;
  NetModel net_;
  ComputeTimes times_;                             // of the first size of images
  std::map<int64_t, ComputeTimes> times_of_size_;  // of sizes in train_data.size_phase
  ComputeTimes validation_times_;                  // of a batch of validation_data
  UpdateTraffic traffic_;
  double memory_bytes_per_s_ = 0;
  double compressor_bytes_per_s_ = 0;  // 0: memory_bytes_per_s_
};

}  // namespace gf

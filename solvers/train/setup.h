#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "comm/flow/gradient_transport.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/file_descriptor.h"
#include "core/group_sum.h"
#include "core/telemetry/timeline.h"
#include "models/net.h"
#include "solvers/batch_schedule.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/checkpoint/load.h"
#include "solvers/lr_policy.h"
#include "solvers/pool_arithmetic.h"
#include "solvers/report/mlperf_log.h"
#include "solvers/report/report.h"
#include "solvers/report/timeline_writer.h"
#include "solvers/size_schedule.h"
#include "solvers/solver.h"
#include "solvers/train/batch_feed.h"
#include "solvers/train/data_and_net.h"
#include "solvers/train/statistics.h"
#include "solvers/train/step_keeper.h"
#include "solvers/train/step_update.h"
#include "solvers/weight_average.h"

namespace gf {

struct TrainOptions {
  StartOptions start;
  int threads = 1;  // compute threads of this rank
  // Same seed and number of ranks: same bits.
  bool deterministic = false;
  // Print the settings that have their defaults, too.
  bool verbose = false;
  // Training ends after this step (0 = where the config says); the learning rate follows the
  // config's length all the same.
  int64_t stop_step = 0;
  // Steps whose timeline is recorded, and the file that rank 0 writes at the end.
  StepRange timeline_steps;
  std::string timeline_file = "timeline.json";
  // File of the run's log in MLPerf's form; empty: none.
  std::string mlperf_log;
  // Called on rank 0 when all is set up, before the first step; may be null.
  std::function<void()> started;
};

// All that a training job consists of, on one rank. Parts use the parts above them.
struct TrainingParts {
  FileDescriptor run_folder;  // claims telemetry.run_dir (on rank 0)
  std::unique_ptr<Report> report;
  std::unique_ptr<MlperfLog> mlperf_log;  // on rank 0, if the options name one
  std::unique_ptr<Timeline> timeline;
  std::unique_ptr<Device> device;
  std::unique_ptr<GroupSum> batch_norm_group;  // null: every rank has statistics of its own
  // How gradients on the device travel.
  std::shared_ptr<GradientTransport> transport;

  NetSource source;
  BuildOptions build;  // of the net and the data of training
  DataAndNet train;
  DataAndNet validation;  // both null without validation_data
  ParameterStore* store = nullptr;
  std::unique_ptr<Solver> solver;
  std::unique_ptr<BatchSchedule> batches;
  std::unique_ptr<SizeSchedule> sizes;
  int64_t size_step = 0;  // the first step of the phase for which `train` was built
  std::unique_ptr<LearningRate> rate;
  std::unique_ptr<WeightAverage> average;  // null without solver.average
  int64_t last_step = 0;                   // training ends after it
  std::unique_ptr<BatchFeed> feed;

  TrainingState state;
  std::unique_ptr<GradientFlow> flow;
  std::vector<int> bucket_ends;  // of `train.net`; none: it does not know them
  std::unique_ptr<StepUpdate> update;
  std::unique_ptr<Accumulator> accumulator;  // null where each step has one batch per rank
  std::unique_ptr<StatisticsMean> statistics;
  std::unique_ptr<CheckpointFolder> checkpoints;  // null without checkpoint.dir
  std::unique_ptr<StepKeeper> keeper;             // on rank 0, from Start on
  std::unique_ptr<TimelineWriter> timeline_writer;
};

// Fills `parts`, which is new and stays where it is, up to the first step; called by all ranks.
// Throws UserError on all ranks, and CommError.
void SetUp(const JobConfig& config, const TrainOptions& options, Communicator* comm,
           TrainingParts* parts);

}  // namespace gf

// Trains a network: gftrain --help.
#include <gflags/gflags.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/telemetry/timeline.h"
#include "solvers/from_caffe/caffe_job.h"
#include "solvers/report/run_folder.h"
#include "solvers/train/signals.h"
#include "solvers/train/trainer.h"
#include "tools/dry_run.h"
#include "tools/flags.h"
#include "tools/print_schedule.h"
#include "tools/rank_main.h"

DEFINE_string(config, "", "the job: a prototxt `FILE`, see configs/");
DEFINE_string(solver, "",
              "instead of --config: a Caffe solver `FILE` (solver.prototxt), whose net names the "
              "data; the job that it stands for is written to its snapshot_prefix/job.prototxt");
DEFINE_string(
    resume, "",
    "continue from the newest valid checkpoint of checkpoint.dir, or of `FOLDER`, which may "
    "also be a checkpoint itself");
DEFINE_string(weights, "",
              "start from the weights of a `FILE`: safetensors, or a Caffe model (x.caffemodel); "
              "names decide, and what the file lacks keeps its initial values");
DEFINE_string(weights_skip, "",
              "with --weights: leave out the parameters that fit a `PATTERN`, such as \"fc.*\"; "
              "several are separated by commas");
DEFINE_bool(bgr, false,
            "with --weights=x.caffemodel: it was trained on BGR images, as Caffe reads JPEGs");
DEFINE_bool(deterministic, false, "same seed and number of ranks: same bits");
DEFINE_int64(max_steps, 0, "stop after step `N`; the learning rate keeps the config's length");
DEFINE_string(timeline_steps, "",
              "record where the time of steps `A:B` goes, on all ranks, for ui.perfetto.dev or "
              "chrome://tracing");
DEFINE_string(timeline_file, "",
              "write them to this `FILE` instead of timeline.json in the run's folder");
DEFINE_string(mlperf_log, "",
              "write the run's log in the form of MLPerf Training's results to this `FILE`");
DEFINE_string(run_dir, "",
              "write config.prototxt (resolved), log.jsonl and timeline.json to this `FOLDER`; "
              "gfreport FOLDER shows it");
DEFINE_bool(tensorboard, false, "with --run_dir: also write TensorBoard's event files");
DEFINE_bool(verbose, false, "print all settings at the start, also those left at their defaults");
DEFINE_bool(dry_run, false, "print layers, memory and plans, train nothing");
DEFINE_int64(print_schedule, 0,
             "print epoch, learning rate, images and density of every `N`-th step as CSV, train "
             "nothing; without a number, of every step");
DEFINE_int32(ranks, 0, "with --print_schedule: as on `N` ranks; 0 = the ranks that were started");
DEFINE_string(net, "", "with --dry_run: the prototxt `FILE` of a network, instead of a config");
DEFINE_string(input, "", "with --dry_run --net: `CxHxW` of the images if the net does not say");
DEFINE_int32(batch_size, 0, "with --dry_run: images per rank; 0 = what the files say");
DEFINE_string(phase, "TRAIN", "with --dry_run: the `PHASE`, TRAIN or TEST");

namespace gf {
namespace {

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gftrain: trains a network.";
  spec.usage = {"mpirun -n RANKS gftrain --config=FILE [FLAGS]",
                "mpirun -n RANKS gftrain --solver=FILE [FLAGS]",
                "gftrain --config=FILE --dry_run | --print_schedule[=N] [FLAGS]",
                "gftrain --net=FILE --dry_run [FLAGS]"};
  spec.examples = {"mpirun -n 2 gftrain --config=configs/quickstart.prototxt",
                   "gftrain --config=FILE --set solver.base_lr=0.05 --set train_data.batch_size=32",
                   "gftrain --dry_run --net=models/resnet50.prototxt"};
  spec.groups = {
      {"Job",
       {"config", "solver", "set", "resume", "weights", "weights_skip", "bgr", "max_steps",
        "deterministic"}},
      {"Records",
       {"run_dir", "tensorboard", "timeline_steps", "timeline_file", "mlperf_log", "verbose"}},
      {"Without training",
       {"dry_run", "net", "input", "batch_size", "phase", "print_schedule", "ranks"}}};
  spec.notes =
      "SIGTERM, SIGINT and SIGHUP write a checkpoint and stop, SIGUSR1 writes a checkpoint.\n";
  spec.bare = {{"resume", "latest"}, {"print_schedule", "1"}};
  spec.hints_at_settings = true;
  return spec;
}

bool Given(const char* flag) { return !google::GetCommandLineFlagInfoOrDie(flag).is_default; }

bool HasJob() { return !FLAGS_config.empty() || !FLAGS_solver.empty(); }

void CheckCombination(const std::vector<std::string>& overrides) {
  if (FLAGS_config.empty() && FLAGS_solver.empty() && FLAGS_net.empty()) {
    ThrowUserError(
        "--config is missing: name the job's file, or a Caffe solver with --solver "
        "(see --help)");
  }
  if (!FLAGS_net.empty() && !FLAGS_dry_run) {
    ThrowUserError("--net goes with --dry_run; to train give --config or --solver");
  }
  if (!FLAGS_config.empty() && !FLAGS_solver.empty()) {
    ThrowUserError("give --config or --solver, not both");
  }
  if (!FLAGS_net.empty() && HasJob()) {
    ThrowUserError("give ", FLAGS_config.empty() ? "--solver" : "--config", " or --net, not both");
  }
  if (!FLAGS_resume.empty() && !FLAGS_weights.empty()) {
    ThrowUserError("give --resume or --weights, not both");
  }
  if (FLAGS_bgr && FLAGS_weights.empty()) ThrowUserError("--bgr goes with --weights");
  // A solver may name weights.
  if (!FLAGS_weights_skip.empty() && FLAGS_weights.empty() && FLAGS_solver.empty()) {
    ThrowUserError("--weights_skip goes with --weights");
  }
  if (FLAGS_timeline_steps.empty() && !FLAGS_timeline_file.empty()) {
    ThrowUserError("--timeline_file goes with --timeline_steps");
  }
  if (!FLAGS_timeline_steps.empty()) ParseStepRange(FLAGS_timeline_steps);
  for (const char* flag : {"input", "batch_size", "phase"}) {
    if (Given(flag) && !FLAGS_dry_run) ThrowUserError("--", flag, " goes with --dry_run");
  }
  if (!FLAGS_net.empty() && !overrides.empty()) {
    ThrowUserError("--set goes with --config or --solver, not with --net, which has no settings");
  }
  if (Given("input") && FLAGS_net.empty()) ThrowUserError("--input goes with --dry_run --net");
  if (Given("print_schedule") && FLAGS_print_schedule < 1) {
    ThrowUserError("--print_schedule is ", FLAGS_print_schedule, ", must be at least 1");
  }
  if (FLAGS_print_schedule > 0 && (FLAGS_dry_run || !HasJob())) {
    ThrowUserError("--print_schedule goes with --config or --solver and without --dry_run");
  }
  if (FLAGS_ranks < 0) ThrowUserError("--ranks is ", FLAGS_ranks, ", must be at least 0");
  if (FLAGS_ranks > 0 && FLAGS_print_schedule == 0) {
    ThrowUserError(
        "--ranks goes with --print_schedule; to train start the program with "
        "mpirun -n ",
        FLAGS_ranks);
  }
  if (Given("max_steps") && FLAGS_max_steps < 1) {
    ThrowUserError("--max_steps is ", FLAGS_max_steps, ", must be at least 1");
  }
}

// `remarks` and `weights`: of a Caffe solver.
JobConfig ReadConfig(const std::vector<std::string>& overrides, std::vector<std::string>* remarks,
                     std::string* weights) {
  CheckCombination(overrides);
  if (!HasJob()) return {};
  JobConfig config;
  if (FLAGS_solver.empty()) {
    config = ReadJobConfig(FLAGS_config, overrides);
  } else {
    CaffeJob job = ReadCaffeJob(FLAGS_solver, overrides);
    config = std::move(job.config);
    *remarks = std::move(job.remarks);
    *weights = std::move(job.weights);
  }
  if (FLAGS_deterministic && config.comm().mode() == CommConfig::AUTO) {
    ThrowUserError(
        "--deterministic: comm.mode AUTO chooses by measured times, which differ from run to run: "
        "set a mode, for example the one that a run with AUTO has taken");
  }
  TelemetryConfig* const telemetry = config.mutable_telemetry();
  if (!FLAGS_run_dir.empty()) telemetry->set_run_dir(FLAGS_run_dir);
  if (FLAGS_tensorboard) telemetry->set_tensorboard(true);
  if (telemetry->tensorboard() && LogPath(config).empty()) {
    ThrowUserError("--tensorboard writes next to the log: give --run_dir=FOLDER, too");
  }
  return config;
}

void DryRunBody(const JobConfig& config, Communicator* comm) {
  DryRunOptions options;
  options.net = FLAGS_net;
  options.input = FLAGS_input;
  options.batch_size = FLAGS_batch_size;
  options.phase = FLAGS_phase;
  const JobConfig* job = FLAGS_net.empty() ? &config : nullptr;
  AgreeOnErrors(comm, "dry run", [&] { DryRun(job, options, comm, stdout); });
}

void PrintScheduleBody(const JobConfig& config, Communicator* comm) {
  const int ranks = FLAGS_ranks > 0 ? FLAGS_ranks : comm->size();
  AgreeOnErrors(comm, "printing the schedule", [&] {
    if (comm->rank() == 0) PrintSchedule(config, ranks, FLAGS_print_schedule, stdout);
  });
}

TrainOptions OptionsOf(const JobConfig& config, int threads) {
  TrainOptions options;
  options.threads = threads;
  options.start.resume = FLAGS_resume;
  options.start.weights = FLAGS_weights;
  options.start.bgr = FLAGS_bgr;
  std::istringstream patterns(FLAGS_weights_skip);
  for (std::string each; std::getline(patterns, each, ',');) options.start.skip.push_back(each);
  options.deterministic = FLAGS_deterministic;
  options.verbose = FLAGS_verbose;
  options.stop_step = FLAGS_max_steps;
  options.mlperf_log = FLAGS_mlperf_log;
  if (!FLAGS_timeline_steps.empty()) {
    options.timeline_steps = ParseStepRange(FLAGS_timeline_steps);
    options.timeline_file =
        FLAGS_timeline_file.empty() ? TimelinePath(config) : FLAGS_timeline_file;
  }
  return options;
}

class TrainTool : public JobTool {
 public:
  JobConfig ReadConfig(const std::vector<std::string>& overrides) override {
    JobConfig config = gf::ReadConfig(overrides, &remarks_, &solver_weights_);
    // Before MPI starts, which a signal to one rank must not break; after the config, which may be
    // read from a pipe that a signal must interrupt.
    if (Trains()) WatchSignals();
    return config;
  }

  void Run(const JobConfig& config, int threads, Communicator* comm) override {
    if (comm->rank() == 0) {
      for (const std::string& remark : remarks_) PrintWarning(remark);
    }
    if (Trains()) {
      TrainOptions options = OptionsOf(config, threads);
      if (options.start.weights.empty() && !solver_weights_.empty()) {
        options.start.weights = solver_weights_;
        options.start.bgr = HasEnding(solver_weights_, ".caffemodel");  // Caffe reads BGR images
      }
      if (!FLAGS_solver.empty()) options.started = [&] { WriteJob(config); };
      return Train(config, options, comm);
    }
    if (FLAGS_dry_run) return DryRunBody(config, comm);
    PrintScheduleBody(config, comm);
  }

 private:
  static bool Trains() { return !FLAGS_dry_run && FLAGS_print_schedule == 0; }

  void WriteJob(const JobConfig& config) const {
    if (config.checkpoint().dir().empty()) return;
    PrintRemark(
        StrCat(FLAGS_solver, " as a job: ", WriteCaffeJob(FLAGS_solver, config, solver_weights_)));
  }

  std::vector<std::string> remarks_;
  std::string solver_weights_;
};

int Main(int argc, char** argv) {
  TrainTool tool;
  return RunJob(argc, argv, Spec(), &tool);
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }

// Simulates a job on a cluster: gfsim --help.
#include <gflags/gflags.h>

#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/readable.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"
#include "simulate/measured_run.h"
#include "simulate/suggest.h"
#include "simulate/sweep.h"
#include "simulate/trace.h"
#include "tools/flags.h"
#include "tools/gfsim/print.h"

DEFINE_string(config, "", "the job: a prototxt `FILE`, see configs/; its data are not opened");
DEFINE_string(cluster, "", "devices and network: a prototxt `FILE`, see configs/clusters/");
DEFINE_int32(ranks, 0, "devices; 0 = what the cluster file says");
DEFINE_string(profile, "",
              "the `FILE` of the layers' times, see configs/profiles/; without it, FLOPs and bytes "
              "divide the step's time among layers");
DEFINE_string(
    gpu, "",
    "estimate the layers' times on the GPU `NAME` (a100, b200, h100, h200, l40s or t4), as "
    "gfbench step --cost does, in place of a profile and of the cluster's rates");
DEFINE_int32(steps, 8, "steps to simulate, each with its own jitter");
DEFINE_uint64(seed, 1, "the seed of the jitter");
DEFINE_int64(
    train_images, 0,
    "images of an epoch; 0 = what the config's train_data.images says, or else ImageNet's");
DEFINE_int64(validation_images, 0, "images of a validation; 0 = the same of validation_data");
DEFINE_string(
    sweep, "",
    "vary one to four things and print a table. Each of the `AXES` is NAME=A,B,C or NAME=A..B "
    "(doubling), see below");
DEFINE_string(csv, "",
              "with --sweep: also write all figures as CSV to this `FILE`, which gfreport FILE "
              "--svg=PICTURE draws; - = to the standard output, without the table");
DEFINE_bool(suggest, false,
            "try thresholds, algorithms and the sharded update, print the settings that make the "
            "step shorter");
DEFINE_string(compare, "",
              "print the measured step of a `RUN` (its --run_dir, or its log) beside the simulated "
              "one, on as many ranks, and with its config.prototxt unless --config is given");
DEFINE_double(price_per_hour, 0,
              "the `PRICE` of a node for an hour, in any currency, for the cost of the training; "
              "0 = what the cluster file says");
DEFINE_string(timeline, "",
              "write one step of the first ranks to this `FILE` (JSON), for gfreport "
              "--timeline=FILE, ui.perfetto.dev or chrome://tracing");
DEFINE_int32(timeline_ranks, 8, "with --timeline: how many ranks");

namespace gf {
namespace {

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gfsim: simulates a training job on a cluster.";
  spec.usage = {"gfsim --config=FILE --cluster=FILE [FLAGS]"};
  spec.examples = {
      "gfsim --config=FILE --cluster=configs/clusters/paper_v.prototxt",
      "gfsim --config=FILE --cluster=FILE --ranks=512 --suggest",
      "gfsim --config=FILE --cluster=FILE --sweep='ranks=1..4096 comm.mode=LAZY,SPARSE' "
      "--csv=x.csv",
      "gfsim --config=FILE --cluster=FILE --sweep='nic=25gbit,100gbit theta=64K,1M,16M'",
      "gfsim --compare=runs/a --cluster=FILE --profile=FILE"};
  spec.groups = {{"Job and cluster",
                  {"config", "set", "cluster", "ranks", "profile", "gpu", "steps", "seed",
                   "train_images", "validation_images", "price_per_hour"}},
                 {"Comparisons", {"sweep", "csv", "suggest", "compare"}},
                 {"One step in detail", {"timeline", "timeline_ranks"}}};
  spec.notes = R"(Axes of --sweep:
  ranks              number of devices
  theta, threshold   bytes of gradients that must be waiting before lazy allreduce starts a
                     bucket: comm.threshold_first and comm.threshold_middle together. K, M, G:
                     powers of 1024; 0: a bucket per tensor
  nic, device_link, switch_link, uplink
                     bandwidth of a link of the cluster, per direction: 25gbit, 800mbit or 3.1gb_s
  batch_size, density, mode, algorithm, ...
                     any field of the config, by its whole name (comm.mode) or by its end, if no
                     other field ends like it
)";
  spec.moved = {{"svg", "write the table with --csv=FILE, then run gfreport FILE"}};
  return spec;
}

void CheckFlags() {
  if (FLAGS_config.empty() && FLAGS_compare.empty()) {
    ThrowUserError("--config is missing: name the job's file (see --help)");
  }
  if (FLAGS_cluster.empty()) {
    ThrowUserError("--cluster is missing: name the cluster's file, see configs/clusters/");
  }
  if (FLAGS_sweep.empty() && !FLAGS_csv.empty()) ThrowUserError("--csv goes with --sweep");
  const int kinds = int{!FLAGS_sweep.empty()} + int{FLAGS_suggest} + int{!FLAGS_compare.empty()};
  if (kinds > 1) ThrowUserError("give only one of --sweep, --suggest and --compare");
  if (kinds > 0 && !FLAGS_timeline.empty()) {
    ThrowUserError("--timeline does not go with --sweep, --suggest and --compare: give it alone");
  }
  const std::string html = ".html";
  if (FLAGS_timeline.size() > html.size() &&
      FLAGS_timeline.compare(FLAGS_timeline.size() - html.size(), html.size(), html) == 0) {
    ThrowUserError("--timeline=", FLAGS_timeline,
                   ": the timeline is JSON: write x.json, then run "
                   "gfreport --timeline=x.json --out=",
                   FLAGS_timeline);
  }
  if (FLAGS_timeline_ranks < 1) {
    ThrowUserError("--timeline_ranks is ", FLAGS_timeline_ranks, ", must be at least 1");
  }
}

void Warn(const RunResult& run) {
  for (const std::string& sentence : {run.guess, run.advice}) {
    if (!sentence.empty()) PrintWarning(sentence);
  }
}

void Sweep(const SimulatedJob& job) {
  const std::vector<SweepAxis> axes = ParseSweep(FLAGS_sweep);
  const std::vector<SweepPoint> points = RunSweep(job, axes);
  // Points with the same guess warn once, and of all advice the first is enough.
  std::set<std::string> guesses;
  bool advised = false;
  for (const SweepPoint& point : points) {
    RunResult run = point.run;
    if (!guesses.insert(run.guess).second) run.guess.clear();
    if (std::exchange(advised, advised || !run.advice.empty())) run.advice.clear();
    Warn(run);
  }
  const std::string refused = RefusedPoints(axes, points);
  if (!refused.empty()) PrintWarning("--sweep: ", refused);
  for (const std::string& name : AxesWithoutEffect(axes, points)) {
    PrintWarning("--sweep: ", name, " changes neither times nor traffic here: leave it out");
  }
  if (FLAGS_csv == "-") {
    std::fputs(SweepCsv(axes, points).c_str(), stdout);
    return;
  }
  if (!FLAGS_csv.empty()) ReplaceFile(FLAGS_csv, SweepCsv(axes, points));
  PrintSweep(axes, points, stdout);
}

void Compare(SimulatedJob job, const MeasuredRun& measured) {
  if (job.ranks != 0 && job.ranks != measured.ranks) {
    ThrowUserError("--ranks=", job.ranks, ": the run of --compare=", FLAGS_compare, " had ",
                   Counted(measured.ranks, "rank"), ": leave --ranks out");
  }
  job.ranks = measured.ranks;
  if (job.config.train_data().size_phase_size() > 0) {
    ThrowUserError("--compare=", FLAGS_compare,
                   ": the run changes the size of its images (train_data.size_phase), so its steps "
                   "cannot be compared with one simulated step");
  }
  const RunResult simulated = Simulator(job).Run();
  if (static_cast<double>(simulated.step_images) != measured.images_per_step) {
    ThrowUserError("--compare=", FLAGS_compare, ": the log has ", measured.images_per_step,
                   " images per step, but batch_size ", job.config.train_data().batch_size(),
                   " on ", Counted(measured.ranks, "rank"), " makes ", simulated.step_images,
                   ": give the --config of this run");
  }
  Warn(simulated);
  PrintCompared(measured, simulated, stdout);
}

int Main(int argc, char** argv) {
  std::vector<std::string> overrides;
  FlagSpec flags = Spec();
  flags.overrides = &overrides;
  const int code = ParseFlags(argc, argv, flags);
  if (code >= 0) return code;
  CheckFlags();

  SimulatedJob job;
  MeasuredRun measured;
  std::string config = FLAGS_config;
  if (!FLAGS_compare.empty()) {
    const std::string log = LogOf(FLAGS_compare);
    measured = ReadMeasuredRun(log);
    if (config.empty()) config = ConfigBeside(log);
  }
  job.config = ReadJobConfig(config, overrides, OpenedData::kNone);
  job.cluster = ReadCluster(FLAGS_cluster, &job.cluster_places);
  job.node_price_per_hour = FLAGS_price_per_hour;
  ProfileConfig profile;
  if (!FLAGS_profile.empty()) {
    profile = ReadProfile(FLAGS_profile);
    job.profile = &profile;
  }
  if (!FLAGS_gpu.empty()) job.gpu = &FindGpu("--gpu", FLAGS_gpu);
  job.ranks = FLAGS_ranks;
  job.seed = FLAGS_seed;
  job.steps = FLAGS_steps;
  const auto images = [](int64_t flag, const DataConfig& data, int64_t imagenet) {
    return flag != 0 ? flag : data.images() > 0 ? data.images() : imagenet;
  };
  job.train_images = images(FLAGS_train_images, job.config.train_data(), job.train_images);
  job.validation_images =
      images(FLAGS_validation_images, job.config.validation_data(), job.validation_images);
  if (FLAGS_train_images == 0 && job.config.train_data().images() == 0 && FLAGS_compare.empty()) {
    PrintWarning("neither --train_images nor train_data.images says how many images an epoch has: ",
                 "the length of training and its cost are those of ImageNet (",
                 WithCommas(job.train_images), ")");
  }
  if (!FLAGS_sweep.empty()) {
    Sweep(job);
    return 0;
  }
  if (FLAGS_suggest) {
    const std::vector<Suggestion> all = Suggest(job);
    Warn(all[0].run);
    PrintSuggestions(all, 10, stdout);
    return 0;
  }
  if (!FLAGS_compare.empty()) {
    Compare(job, measured);
    return 0;
  }
  Simulator simulator(job);
  const RunResult run = simulator.Run();
  Warn(run);
  PrintRun(job, simulator.net(), run, stdout);
  if (!FLAGS_timeline.empty()) {
    ReplaceFile(FLAGS_timeline, TraceJson(simulator.Trace(), job.cluster.node(),
                                          FLAGS_timeline_ranks, LayerTimesOf(job)));
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }

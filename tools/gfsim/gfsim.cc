// Simulates a job on a cluster: gfsim --help.
#include <gflags/gflags.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "core/output_file.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"
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
    "vary one or two things and print CSV. Each of the `AXES` is NAME=A,B,C or NAME=A..B "
    "(doubling); NAME is ranks, theta (K, M: powers of 1024), density, algorithm, mode or "
    "any field of the config");
DEFINE_string(
    csv, "",
    "with --sweep: write the CSV to this `FILE` instead; gfreport FILE --svg=PICTURE draws it");
DEFINE_bool(suggest, false,
            "try thresholds, algorithms and the sharded update, print the best settings");
DEFINE_string(timeline, "",
              "write one step of the first ranks to this `FILE`, for ui.perfetto.dev or "
              "chrome://tracing");
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
      "--csv=x.csv"};
  spec.groups = {{"Job and cluster",
                  {"config", "set", "cluster", "ranks", "profile", "gpu", "steps", "seed",
                   "train_images", "validation_images"}},
                 {"Comparisons", {"sweep", "csv", "suggest"}},
                 {"One step in detail", {"timeline", "timeline_ranks"}}};
  spec.moved = {{"svg", "write the table with --csv=FILE, then run gfreport FILE"}};
  return spec;
}

void CheckFlags() {
  if (FLAGS_config.empty()) ThrowUserError("--config is missing: name the job's file (see --help)");
  if (FLAGS_cluster.empty()) {
    ThrowUserError("--cluster is missing: name the cluster's file, see configs/clusters/");
  }
  if (FLAGS_sweep.empty() && !FLAGS_csv.empty()) ThrowUserError("--csv goes with --sweep");
  if (!FLAGS_sweep.empty() && FLAGS_suggest) ThrowUserError("give --sweep or --suggest, not both");
  if (FLAGS_timeline_ranks < 1) {
    ThrowUserError("--timeline_ranks is ", FLAGS_timeline_ranks, ", must be at least 1");
  }
}

void Sweep(const SimulatedJob& job) {
  const std::vector<SweepAxis> axes = ParseSweep(FLAGS_sweep);
  const std::vector<SweepPoint> points = RunSweep(job, axes);
  const std::string csv = SweepCsv(axes, points);
  if (FLAGS_csv.empty()) {
    std::fputs(csv.c_str(), stdout);
  } else {
    ReplaceFile(FLAGS_csv, csv);
  }
}

int Main(int argc, char** argv) {
  std::vector<std::string> overrides;
  FlagSpec flags = Spec();
  flags.overrides = &overrides;
  const int code = ParseFlags(argc, argv, flags);
  if (code >= 0) return code;
  CheckFlags();

  SimulatedJob job;
  job.config = ReadJobConfig(FLAGS_config, overrides);
  job.cluster = ReadCluster(FLAGS_cluster);
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
  if (!FLAGS_sweep.empty()) {
    Sweep(job);
    return 0;
  }
  if (FLAGS_suggest) {
    PrintSuggestions(Suggest(job), 10, stdout);
    return 0;
  }
  Simulator simulator(job);
  PrintRun(job, simulator.net(), simulator.Run(), stdout);
  if (!FLAGS_timeline.empty()) {
    ReplaceFile(FLAGS_timeline, TraceJson(simulator.Trace(), job.cluster.node(),
                                          FLAGS_timeline_ranks, LayerTimesOf(job)));
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }

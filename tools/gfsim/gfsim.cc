// Simulates a job on a cluster: gfsim --help.
#include <gflags/gflags.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"
#include "simulate/suggest.h"
#include "simulate/sweep.h"
#include "simulate/trace.h"
#include "tools/flags.h"
#include "tools/gfsim/print.h"

DEFINE_string(config, "", "the job: a prototxt file, see configs/");
DEFINE_string(cluster, "", "the cluster: a prototxt file, see configs/clusters/");
DEFINE_string(profile, "", "times of the network's layers, see configs/profiles/");
DEFINE_string(gpu, "", "estimate the layers' times: a100, b200, h100, h200, l40s or t4");
DEFINE_int32(ranks, 0, "devices; 0 = what the cluster file says");
DEFINE_uint64(seed, 1, "of the jitter");
DEFINE_int32(steps, 8, "steps to simulate, with jitter of their own");
DEFINE_int64(train_images, 0, "images of an epoch");
DEFINE_int64(validation_images, 0, "images of a validation");
DEFINE_string(sweep, "", "what to vary");
DEFINE_string(csv, "", "with --sweep: the table's file");
DEFINE_string(svg, "", "gone: gfreport draws the table");
DEFINE_string(timeline, "", "write one step for ui.perfetto.dev");
DEFINE_int32(timeline_ranks, 8, "with --timeline: of so many ranks");
DEFINE_bool(suggest, false, "try other settings and print the best");

namespace gf {
namespace {

constexpr char kUsage[] = R"(gfsim: simulates a training job on a cluster.

  gfsim --config=FILE --cluster=configs/clusters/paper_v.prototxt
  gfsim --config=FILE --cluster=FILE --sweep='ranks=1..4096 comm.mode=LAZY,SPARSE' --csv=x.csv

  --config=FILE         the job; its data are not opened
  --cluster=FILE        devices and network
  --set PATH=VALUE      override a field of the config; may be repeated
  --profile=FILE        times of the layers; else shared out by FLOPs and bytes
  --gpu=NAME            an estimate of the layers' times on a100, b200, h100, h200, l40s or t4
                        (gfbench step --cost) in place of a profile and of the cluster's rates
  --ranks=N             devices (default: the cluster file's)
  --sweep='AXIS AXIS'   vary one or two things: NAME=A,B,C or NAME=A..B (doubling); NAME is ranks,
                        theta (K, M: powers of 1024), density, algorithm, mode or any field of the
                        config. Prints CSV
      --csv=FILE        CSV to a file instead
                        gfreport draws it: gfreport FILE --svg=PICTURE
  --timeline=FILE       one step of the first ranks for ui.perfetto.dev or chrome://tracing
      --timeline_ranks=N  (8)
  --suggest             try thresholds, algorithms and the sharded update, print the best
  --steps=N --seed=N    how many steps, and whose jitter (8, 1)
  --train_images=N --validation_images=N   sizes of the data (what the config's `images` say, or
                        else ImageNet's)
  --help, --version
)";

void WriteFile(const char* flag, const std::string& path, const std::string& text) {
  FILE* const file = std::fopen(path.c_str(), "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (file != nullptr && std::fclose(file) == 0 && written) return;
  ThrowUserError("--", flag, "=", path, ": cannot be written: ", std::strerror(error));
}

void CheckFlags() {
  if (FLAGS_config.empty()) ThrowUserError("--config is missing: name the job's file (see --help)");
  if (FLAGS_cluster.empty()) {
    ThrowUserError("--cluster is missing: name the cluster's file, see configs/clusters/");
  }
  if (!FLAGS_svg.empty()) {
    ThrowUserError("--svg=", FLAGS_svg,
                   ": gfsim draws no pictures; write the table with --csv=FILE, "
                   "then run gfreport FILE --svg=",
                   FLAGS_svg);
  }
  if (FLAGS_sweep.empty() && !FLAGS_csv.empty()) ThrowUserError("--csv goes with --sweep");
  if (!FLAGS_sweep.empty() && FLAGS_suggest) ThrowUserError("give --sweep or --suggest, not both");
  if (FLAGS_timeline_ranks < 1) {
    ThrowUserError("--timeline_ranks is ", FLAGS_timeline_ranks, ", expected at least 1");
  }
}

void Sweep(const SimulatedJob& job) {
  const std::vector<SweepAxis> axes = ParseSweep(FLAGS_sweep);
  const std::vector<SweepPoint> points = RunSweep(job, axes);
  const std::string csv = SweepCsv(axes, points);
  if (FLAGS_csv.empty()) {
    std::fputs(csv.c_str(), stdout);
  } else {
    WriteFile("csv", FLAGS_csv, csv);
  }
}

int Main(int argc, char** argv) {
  std::vector<std::string> overrides;
  FlagSpec flags;
  flags.file = __FILE__;
  flags.usage = kUsage;
  flags.repeated = "set";
  flags.values = &overrides;
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
    WriteFile(
        "timeline", FLAGS_timeline,
        TraceJson(simulator.Trace(), job.cluster.node(), FLAGS_timeline_ranks, LayerTimesOf(job)));
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }

// Trains a network: gftrain --help.
#include <gflags/gflags.h>

#include <exception>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "solvers/agree.h"
#include "solvers/threads.h"
#include "solvers/trainer.h"
#include "tools/dry_run.h"
#include "tools/flags.h"
#include "tools/rank_main.h"

DEFINE_string(config, "", "the job: a prototxt file, see configs/");
DEFINE_string(resume, "", "continue from the last valid checkpoint, or from the one named");
DEFINE_string(weights, "", "start from the weights of a safetensors file");
DEFINE_bool(deterministic, false, "same seed and number of ranks: same bits");
DEFINE_int64(max_steps, 0, "stop after this step; the learning rate keeps the config's length");
DEFINE_bool(dry_run, false, "print the compiled net and its plans, train nothing");
DEFINE_string(net, "", "with --dry_run: a network's prototxt file instead of a config");
DEFINE_string(input, "", "with --dry_run --net: CxHxW of the images if the net does not say");
DEFINE_int32(batch_size, 0, "with --dry_run: images per rank; 0 = what the files say");
DEFINE_string(phase, "TRAIN", "with --dry_run: TRAIN or TEST");

namespace gf {
namespace {

constexpr char kUsage[] = R"(gftrain: trains a network.

  mpirun -n 2 gftrain --config=configs/quickstart.prototxt
  gftrain --config=FILE --set solver.base_lr=0.05 --set train_data.batch_size=32
  gftrain --dry_run --net=models/resnet50.prototxt

  --config=FILE         the job
  --set PATH=VALUE      override a field of it; may be repeated
  --resume[=FOLDER]     continue from the last valid checkpoint of checkpoint.dir, or from
                        the checkpoint FOLDER
  --weights=FILE        start from the weights of a safetensors file
  --max_steps=N         stop after step N (the learning rate keeps the config's length)
  --deterministic       same seed and number of ranks: same bits
  --dry_run             print layers, memory and plans, train nothing; with --config, or with
      --net=FILE        a network alone
      --input=CxHxW     its images, if it does not say
      --batch_size=N    images per rank
      --phase=TEST      its TEST phase
  --help, --version

SIGTERM and SIGINT write a checkpoint and stop, SIGUSR1 writes a checkpoint.
)";

int DryRunBody(const JobConfig* config, Communicator* comm) {
  DryRunOptions options;
  options.net = FLAGS_net;
  options.input = FLAGS_input;
  options.batch_size = FLAGS_batch_size;
  options.phase = FLAGS_phase;
  AgreeOnErrors(comm, "dry run", [&] { DryRun(config, options, comm, stdout); });
  return 0;
}

void CheckCombination() {
  if (FLAGS_config.empty() && FLAGS_net.empty()) {
    ThrowUserError("--config is missing: name the job's file (see --help)");
  }
  if (!FLAGS_net.empty() && !FLAGS_dry_run) {
    ThrowUserError("--net goes with --dry_run; to train give --config");
  }
  if (!FLAGS_net.empty() && !FLAGS_config.empty()) {
    ThrowUserError("give --config or --net, not both");
  }
  if (!FLAGS_resume.empty() && !FLAGS_weights.empty()) {
    ThrowUserError("give --resume or --weights, not both");
  }
  if (FLAGS_max_steps < 0) ThrowUserError("--max_steps is ", FLAGS_max_steps, ", expected > 0");
}

int Main(int argc, char** argv) {
  InitLogging(argv[0]);
  std::vector<std::string> overrides;
  FlagSpec spec;
  spec.file = __FILE__;
  spec.usage = kUsage;
  spec.repeated = "set";
  spec.values = &overrides;
  spec.bare = {{"resume", "latest"}};

  // Mistakes that every rank makes are told once, which needs the other ranks.
  JobConfig config;
  int code = -1;
  std::exception_ptr mistake;
  try {
    code = ParseFlags(argc, argv, spec);
    if (code >= 0) return code;
    CheckCombination();
    if (!FLAGS_config.empty()) config = ReadJobConfig(FLAGS_config, overrides);
  } catch (const UserError&) {
    mistake = std::current_exception();
  }
  return RunOnRanks(&argc, &argv, config.comm().timeout_s(), [&](Communicator* comm) {
    AgreeOnErrors(comm, "reading the config", [&] {
      if (mistake) std::rethrow_exception(mistake);
    });
    TrainOptions options;
    options.start.threads = SetComputeThreads(config.threads(), comm);
    if (FLAGS_dry_run) return DryRunBody(FLAGS_net.empty() ? &config : nullptr, comm);
    options.start.resume = FLAGS_resume;
    options.start.weights = FLAGS_weights;
    options.deterministic = FLAGS_deterministic;
    options.stop_step = FLAGS_max_steps;
    Train(config, options, comm);
    return 0;
  });
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }

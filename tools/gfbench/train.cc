// gfbench train: training steps of all ranks with their exchange of gradients, without data.

#include <gflags/gflags.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "core/config/config.h"
#include "core/config/job_checks.h"
#include "core/device.h"
#include "core/error.h"
#include "core/median.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/profile_out.h"
#include "tools/gfbench/training_steps.h"
#include "tools/gfbench/workload.h"
#include "tools/rank_main.h"

DEFINE_string(comm, "", "the job's comm { } `MESSAGE`, e.g. 'mode: LAZY wire_type: BF16'");
DEFINE_bool(exchange, true, "exchange gradients; --noexchange leaves nothing to wait for");

namespace gf {
namespace {

int Body(const CommConfig& config, Communicator* comm) {
  RunOnRankZero(comm, "output files", [] {
    CheckJsonFile();
    CheckOutputFile("profile_out", FLAGS_profile_out);
  });
  const auto device = DeviceOfRank();
  std::unique_ptr<Workload> workload;
  AgreeOnErrors(comm, "building the net",
                [&] { workload = NewWorkload(device.get(), comm->rank()); });
  TrainingSteps training(workload.get(), device.get(), comm);
  if (FLAGS_exchange) {
    if (comm->rank() == 0) {
      for (const std::string& sentence : training.Advice(config)) PrintWarning(sentence);
    }
    training.Exchange(config);
  }
  const std::string taken = training.ChooseExchange();
  for (int i = 0; i < FLAGS_warmup; ++i) training.Step();
  if (!FLAGS_profile_out.empty()) workload->net()->EnableTimes();
  std::vector<StepTimes> steps;
  for (int i = 0; i < FLAGS_steps; ++i) steps.push_back(training.Step());
  if (comm->rank() != 0) return 0;
  const auto median = [&](double StepTimes::*member) {
    std::vector<double> values;
    for (const StepTimes& step : steps) values.push_back(step.*member);
    return Median(values);
  };
  const double step = median(&StepTimes::step), transfer = median(&StepTimes::transfer);
  const double bytes = median(&StepTimes::bytes), world = comm->size();
  const double busbw = transfer > 0 ? bytes / transfer * 2 * (world - 1) / world : 0;
  std::printf("%s, %d ranks, batch %d, %s, %s, %s\n", workload->name().c_str(), comm->size(),
              FLAGS_batch, FLAGS_compute.c_str(), CommConfig::Mode_Name(config.mode()).c_str(),
              training.Describe().c_str());
  std::printf("step %.1f ms (median of %d): forward %.1f, backward %.1f, rest %.1f\n", step * 1e3,
              FLAGS_steps, median(&StepTimes::forward) * 1e3, median(&StepTimes::backward) * 1e3,
              median(&StepTimes::finish) * 1e3);
  std::printf("exchange: exposed %.1f ms, transfer %.1f ms, %.1f MB, busbw %.1f MB/s\n",
              median(&StepTimes::exposed) * 1e3, transfer * 1e3, bytes / 1e6, busbw / 1e6);
  const double arithmetic = median(&StepTimes::arithmetic);
  if (arithmetic > 0) {
    std::printf("arithmetic of the compressor %.1f ms, %.2f %% of the step\n", arithmetic * 1e3,
                arithmetic / step * 100);
  }
  std::printf("%.2f images/s\n", FLAGS_batch * world / step);
  if (!FLAGS_profile_out.empty()) {
    WriteProfile(FLAGS_profile_out, *workload->net(), FLAGS_steps, step);
  }
  nlohmann::ordered_json result = {
      {"net", workload->name()},
      {"parameters", workload->parameters()->layout().parameter_count()},
      {"ranks", comm->size()},
      {"batch", FLAGS_batch},
      {"compute", FLAGS_compute},
      {"comm", config.ShortDebugString()},
      {"step_ms", step * 1e3},
      {"forward_ms", median(&StepTimes::forward) * 1e3},
      {"backward_ms", median(&StepTimes::backward) * 1e3},
      {"rest_ms", median(&StepTimes::finish) * 1e3},
      {"exposed_ms", median(&StepTimes::exposed) * 1e3},
      {"transfer_ms", transfer * 1e3},
      {"arithmetic_ms", arithmetic * 1e3},
      {"wire_bytes", bytes},
      {"busbw", busbw},
      {"images_per_s", FLAGS_batch * world / step}};
  if (!taken.empty()) result["taken"] = taken;
  WriteJson(result);
  return 0;
}

class TrainBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times training steps of all ranks and their exchange, without data.";
    spec.usage = {"mpirun -n RANKS gfbench train --net=FILE [FLAGS]"};
    spec.examples = {
        "mpirun -n 2 gfbench train --net=models/lenet.prototxt --comm='mode: LAZY wire_type: "
        "BF16'"};
    spec.groups = {NetFlags(),
                   {"Exchange", {"comm", "exchange"}},
                   {"Profile", {"profile_out"}},
                   WorkloadFlags(),
                   CommonFlags()};
    spec.notes =
        "Times forward, backward, exchange and update on synthetic images. Steps begin together; "
        "the slowest rank's time counts, and the median is printed. \"exposed\" is the time that a "
        "step waited for the exchange, \"transfer\" the time of the exchange itself. --profile_out "
        "writes rank 0's times. Without --threads, each rank has one thread. Mode AUTO chooses "
        "before the --warmup steps.\n"
        "\n"
        "--replay computes nothing: each layer waits for its time in a profile and then announces "
        "gradients that were drawn. The exchange and the update are real. --profile_out of "
        "gfbench step writes such a file, configs/profiles/ has others; times are scaled to "
        "--batch.\n";
    return spec;
  }

  bool tells_mistakes() const override { return true; }

  int Run(const Arguments& arguments) override {
    CommConfig config;
    const auto check = [&config] {
      CheckCommonFlags();
      CheckWorkloadFlags(FLAGS_profile_out.empty() ? "" : "--profile_out");
      ParseTextProto(FLAGS_comm, "--comm", &config);
      CheckComm(config, "comm");
      return config.timeout_s();
    };
    return CheckAndRunOnRanks(arguments, check,
                              [&](Communicator* comm) { return Body(config, comm); });
  }
};

GF_REGISTER(CommandRegistry, "train", TrainBenchmark);

}  // namespace
}  // namespace gf

// gfbench arena: all ways to exchange gradients on the same steps, in turns.

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "core/config/config.h"
#include "core/device.h"
#include "core/error.h"
#include "core/readable.h"
#include "tools/command.h"
#include "tools/gfbench/arena_table.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/links.h"
#include "tools/gfbench/measured_transport.h"
#include "tools/gfbench/methods.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/peer.h"
#include "tools/gfbench/training_steps.h"
#include "tools/gfbench/workload.h"
#include "tools/rank_main.h"

DEFINE_string(methods, "",
              "`METHODS` separated by \";\": known names, or NAME = a job's comm { } message; by "
              "default the usual ones");

namespace gf {
namespace {

// Note [Turns]
// In each round every method has a turn of --warmup and --steps steps, so a machine that drifts
// meets all alike. A turn creates its exchange and frees it: residuals and velocities of one method
// take up to twice the memory of the FP32 weights, those of all methods together would take the
// memory of dozens of copies of the net. Only the transports stay, with the algorithms that they
// have chosen in the first round. AUTO keeps its choice instead, as its flows send other messages.
class Arena {
 public:
  Arena(const std::vector<Method>& methods, const std::vector<Peer>& peers, Communicator* comm)
      : methods_(methods), peers_(peers), comm_(comm) {
    RunOnRankZero(comm, "--json", CheckJsonFile);
    device_ = DeviceOfRank();
    AgreeOnErrors(comm, "building the net",
                  [&] { workload_ = NewWorkload(device_.get(), comm->rank()); });
    training_ = std::make_unique<TrainingSteps>(workload_.get(), device_.get(), comm);
    rows_.resize(methods.size() + peers.size());
    transports_.resize(methods.size());
    for (size_t i = 0; i < methods.size(); ++i) {
      rows_[i].name = methods[i].name;
      if (methods[i].config) rows_[i].comm = methods[i].config->ShortDebugString();
    }
    for (size_t i = 0; i < peers.size(); ++i) {
      ArenaRow& row = rows_[methods.size() + i];
      row.name = peers[i].name;
      row.comm = peers[i].command;
      row.peer = true;
    }
  }

  void Run() {
    // The first steps of a process build and touch what all methods then find.
    for (int step = 0; step < std::max(FLAGS_warmup, 2); ++step) training_->Step();
    for (int round = 0; round < FLAGS_rounds; ++round) {
      for (size_t i = 0; i < methods_.size(); ++i) Turn(i);
      training_->ExchangeNothing();
      for (size_t i = 0; i < peers_.size(); ++i) {
        StepTimes times;
        times.step = RunPeer(peers_[i], comm_);
        rows_[methods_.size() + i].rounds.push_back({times});
      }
      if (comm_->rank() == 0) {
        PrintRemark(StrCat("round ", round + 1, " of ", FLAGS_rounds, " is done"));
      }
    }
  }

  const std::vector<ArenaRow>& rows() const { return rows_; }
  const Workload& workload() const { return *workload_; }

 private:
  void Turn(size_t i) {
    const Method& method = methods_[i];
    try {
      Prepare(i);
      rows_[i].taken = training_->ChooseExchange();
    } catch (const AgreedError& error) {
      throw AgreedError(StrCat("method \"", method.name, "\": ", error.what()));
    }
    for (int step = 0; step < FLAGS_warmup; ++step) training_->Step();
    std::vector<StepTimes> steps;
    for (int step = 0; step < FLAGS_steps; ++step) steps.push_back(training_->Step());
    rows_[i].rounds.push_back(std::move(steps));
    rows_[i].exchange = training_->Describe();
  }

  void Prepare(size_t i) {
    const std::optional<CommConfig>& config = methods_[i].config;
    if (!config) return training_->ExchangeNothing();
    if (transports_[i] == nullptr && config->mode() != CommConfig::AUTO) {
      transports_[i] = std::make_shared<MeasuredTransport>(
          NewGradientTransport(*config, false, device_.get(), comm_));
    }
    if (comm_->rank() == 0 && rows_[i].rounds.empty()) {
      if (config->mode() == CommConfig::AUTO) {
        PrintRemark(StrCat("method \"", rows_[i].name, "\" measures before it chooses"));
      }
      for (const std::string& sentence : training_->Advice(*config)) {
        PrintWarning("method \"", rows_[i].name, "\": ", sentence);
      }
    }
    training_->Exchange(*config, transports_[i], rows_[i].taken);
  }

  const std::vector<Method>& methods_;
  const std::vector<Peer>& peers_;
  Communicator* const comm_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<TrainingSteps> training_;
  std::vector<ArenaRow> rows_;  // methods, then peers
  std::vector<std::shared_ptr<GradientTransport>> transports_;
};

int Body(const std::vector<Method>& methods, const std::vector<Peer>& peers, Communicator* comm) {
  Arena arena(methods, peers, comm);
  arena.Run();
  if (comm->rank() != 0) return 0;
  std::string replay;
  if (!FLAGS_replay.empty()) replay = StrCat(", replay of ", FLAGS_replay);
  if (FLAGS_replay_images_per_s > 0) {
    replay += StrCat(" at ", FLAGS_replay_images_per_s, " images/s per rank");
  }
  if (!FLAGS_replay_update) replay += ", without updates";
  std::printf("%s, %s, batch %d, %s%s; medians of %s of %s\n", arena.workload().name().c_str(),
              Counted(comm->size(), "rank").c_str(), FLAGS_batch, FLAGS_compute.c_str(),
              replay.c_str(), Counted(FLAGS_rounds, "round").c_str(),
              Counted(FLAGS_steps, "step").c_str());
  auto figures = ReportArena(arena.rows(), comm->size(), FLAGS_batch);
  WriteJson({{"net", arena.workload().name()},
             {"parameters", arena.workload().parameters()->layout().parameter_count()},
             {"ranks", comm->size()},
             {"batch", FLAGS_batch},
             {"compute", FLAGS_compute},
             {"replay", FLAGS_replay},
             {"replay_images_per_s", FLAGS_replay_images_per_s},
             {"updates", FLAGS_replay_update},
             {"rounds", FLAGS_rounds},
             {"steps", FLAGS_steps},
             {"methods", std::move(figures)}});
  return 0;
}

// Rows of the table need different names.
void CheckName(const Peer& peer, const std::vector<Method>& methods) {
  for (const Method& method : methods) {
    if (method.name != peer.name) continue;
    ThrowUserError("--peers: \"", peer.name,
                   "\" is the name of a method, too; give the peer another name");
  }
}

class ArenaBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times the same steps with every method of exchange, in turns.";
    spec.usage = {"mpirun -n RANKS gfbench arena --net=FILE [FLAGS]",
                  "gfbench arena --links=LINKS --net=FILE [FLAGS]"};
    spec.examples = {
        "mpirun -n 2 gfbench arena --net=models/lenet.prototxt --methods='LAZY BF16; TOPK 0.01; "
        "small buckets = mode: LAZY threshold_middle: 65536'",
        "mpirun -n 4 gfbench arena --net=models/alexnet_bn.prototxt --batch=128 "
        "--replay=configs/profiles/alexnet_bn_volta.prototxt --replay_images_per_s=1000",
        "gfbench arena --links='1gbit 100us; 200mbit 1ms' --net=models/lenet.prototxt"};
    spec.groups = {NetFlags(),
                   {"Arena", {"methods", "peers", "peer_timeout_s", "links", "hosts", "rounds"}},
                   WorkloadFlags(),
                   CommonFlags()};
    spec.notes = StrCat(
        "In each round every method trains --warmup and --steps steps on the same net; its memory "
        "is freed before the next one. The first method exchanges nothing: \"ratio\" is a step's "
        "time divided by its. \"exposed\" is the time that a step waited for the exchange, "
        "\"transfer\" the time of the exchange itself, \"arithmetic\" that of choosing and packing "
        "gradients, \"MB sent\" what a rank sends per step if sums go round a ring. The slowest "
        "rank's times count. Compressors have no warm-up. AUTO's steps count from its choice on.\n"
        "\n"
        "With --replay ranks compute nothing but the exchange and the update, see gfbench train; "
        "so a few cores stand for many machines with GPUs. Add --noreplay_update where the update "
        "of many ranks on one processor would hide the exchange.\n"
        "\n"
        "With --links, tools/gfbench/on_links runs each rank in its own network namespace, which "
        "stands for a host, behind a link of the given rate and one-way latency. Each link gets a "
        "table, and the first failure ends the command.\n"
        "\n"
        "A peer runs as one process beside each rank and finds the others by RANK, WORLD_SIZE, "
        "MASTER_ADDR and MASTER_PORT; what counts is the last \"step_ms\": X that the process of "
        "rank 0 prints.\n"
        "\n"
        "Known methods, beside \"nothing\":\n",
        KnownMethods());
    return spec;
  }

  bool tells_mistakes() const override { return true; }

  int Run(const Arguments& arguments) override {
    std::vector<Peer> peers;
    std::vector<Method> methods;
    const auto check = [&] {
      CheckCommonFlags();
      if (FLAGS_rounds < 1) ThrowUserError("--rounds is ", FLAGS_rounds, ", must be at least 1");
      CheckLinkFlags();
      peers = PeersOfFlags();
      CheckWorkloadFlags(peers.empty() ? "" : "--peers");
      ComputeType compute = FP32;
      ComputeType_Parse(FLAGS_compute, &compute);  // NetOptionsOfFlags refuses unknown ones
      methods = ParseMethods(FLAGS_methods, compute);
      for (const Peer& peer : peers) CheckName(peer, methods);
      double timeout_s = CommConfig().timeout_s();
      for (const Method& method : methods) {
        if (method.config) timeout_s = std::max(timeout_s, method.config->timeout_s());
      }
      return timeout_s;
    };
    if (!arguments.mistake && arguments.answered < 0 && StartsOnLinks()) {
      check();
      return RunOnLinks("arena", arguments.spec);
    }
    return CheckAndRunOnRanks(arguments, check,
                              [&](Communicator* comm) { return Body(methods, peers, comm); });
  }
};

GF_REGISTER(CommandRegistry, "arena", ArenaBenchmark);

}  // namespace
}  // namespace gf

// gfbench train: training steps of all ranks with their exchange of gradients, without data.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/choice/step_notes.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/config.h"
#include "core/config/job_checks.h"
#include "core/device.h"
#include "core/error.h"
#include "core/median.h"
#include "models/net.h"
#include "solvers/report/choice.h"
#include "solvers/solver.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/profile_out.h"
#include "tools/gfbench/synthetic.h"
#include "tools/rank_main.h"

DEFINE_string(comm, "", "the job's comm { } `MESSAGE`, e.g. 'mode: LAZY wire_type: BF16'");
DEFINE_bool(exchange, true, "exchange gradients; --noexchange leaves nothing to wait for");

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Times of a step, agreed by all ranks: the largest.
struct StepTimes {
  double step, forward, backward, finish, exposed, transfer, arithmetic, bytes;
};

class Trainer {
 public:
  Trainer(Communicator* comm, const CommConfig& config, int threads)
      : comm_(comm),
        device_(DeviceRegistry::Get().Create("device", "cpu", threads)),
        net_(ReadNet(FLAGS_net), NetOptionsOfFlags(), device_.get()),
        batch_(SyntheticBatch(net_)) {
    net_.InitParameters();
    SolverConfig solver;
    solver.set_base_lr(0.001f);
    solver.set_weight_decay(5e-4f);
    ParameterStore* const store = net_.parameters().get();
    solver_ = NewSolver("solver", "SGD", solver, store);
    GradientFlowOptions options;
    options.config = config;
    options.total_steps = 1000000;
    options.config.mutable_sparse()->set_warmup_fraction(0);
    options.config.mutable_topk()->set_warmup_fraction(0);
    options.config.mutable_low_rank()->set_warmup_fraction(0);
    options.momentum = solver.momentum();
    options.nesterov = solver.nesterov();
    options.device = device_.get();
    options.chosen = [comm](const ExchangeChoice& choice) {
      if (comm->rank() != 0) return;
      for (const std::string& line : LinesOf(choice)) std::printf("%s\n", line.c_str());
      std::fflush(stdout);  // what follows may take minutes
    };
    if (FLAGS_exchange) {
      flow_ = NewGradientFlow(store->layout(), store->gradient(), comm, options);
    }
  }

  StepTimes Step() {
    if (step_ == 1) device_->Settle();
    comm_->Barrier("step");
    const auto start = Clock::now();
    if (flow_) flow_->BeginStep(step_);
    net_.Forward(batch_, step_++);
    const auto forward = Clock::now();
    net_.Backward(1, [&](const std::vector<int>& entries) {
      if (flow_) flow_->GradientsReady(entries);
    });
    const auto backward = Clock::now();
    UpdateScalars scalars;
    scalars.lr = 0.001;
    scalars.gradient_scale = 1.0 / comm_->size();
    if (flow_) solver_->SetCarried(flow_->carries_momentum());
    solver_->BeginStep(scalars);
    if (flow_) {
      flow_->Finish([&](const std::vector<ElementRange>& ranges) { solver_->Update(ranges); });
    } else {
      solver_->Update({{0, net_.parameters()->layout().count()}});
    }
    net_.parameters()->BumpVersion();
    const auto end = Clock::now();
    const CommStats stats = flow_ ? flow_->stats() : CommStats();
    double values[] = {Seconds(end - start),
                       Seconds(forward - start),
                       Seconds(backward - forward),
                       Seconds(end - backward),
                       stats.exposed_s,
                       stats.transfer_s,
                       stats.arithmetic_s,
                       static_cast<double>(stats.wire_bytes)};
    comm_->AllReduce(values, 8, ReduceOp::kMax, "times");
    return {values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]};
  }

  std::string Describe() const { return flow_ ? flow_->Describe() : "nothing is exchanged"; }
  Net& net() { return net_; }

 private:
  Communicator* const comm_;
  const std::unique_ptr<Device> device_;
  Net net_;
  const Batch batch_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<GradientFlow> flow_;
  int64_t step_ = 0;
};

int Body(const CommConfig& config, Communicator* comm) {
  // As torchrun and DDP do: without a number, one thread per rank.
  Trainer trainer(comm, config, FLAGS_threads > 0 ? FLAGS_threads : 1);
  // AUTO measures in its first steps.
  const bool automatic = config.mode() == CommConfig::AUTO && FLAGS_exchange;
  const int warmup = automatic ? std::max(FLAGS_warmup, StepNotes::kSteps + 1) : FLAGS_warmup;
  for (int i = 0; i < warmup; ++i) trainer.Step();
  if (!FLAGS_profile_out.empty()) trainer.net().EnableTimes();
  std::vector<StepTimes> steps;
  for (int i = 0; i < FLAGS_steps; ++i) steps.push_back(trainer.Step());
  if (comm->rank() != 0) return 0;
  const auto median = [&](double StepTimes::*member) {
    std::vector<double> values;
    for (const StepTimes& step : steps) values.push_back(step.*member);
    return Median(values);
  };
  const double step = median(&StepTimes::step), transfer = median(&StepTimes::transfer);
  const double bytes = median(&StepTimes::bytes), world = comm->size();
  const double busbw = transfer > 0 ? bytes / transfer * 2 * (world - 1) / world : 0;
  std::printf("%s, %d ranks, batch %d, %s, %s, %s\n", trainer.net().name().c_str(), comm->size(),
              FLAGS_batch, FLAGS_compute.c_str(), CommConfig::Mode_Name(config.mode()).c_str(),
              trainer.Describe().c_str());
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
    WriteProfile(FLAGS_profile_out, trainer.net(), FLAGS_steps, step);
  }
  WriteJson({{"net", trainer.net().name()},
             {"parameters", trainer.net().parameters()->layout().parameter_count()},
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
             {"images_per_s", FLAGS_batch * world / step}});
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
                   CommonFlags()};
    spec.notes =
        "Times forward, backward, exchange and update on synthetic images. Steps begin together; "
        "the slowest rank's time counts, and the median is printed. \"exposed\" is the time that a "
        "step waited for the exchange, \"transfer\" the time of the exchange itself. --profile_out "
        "writes rank 0's times. Without --threads, each rank has one thread.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    CheckCommonFlags();
    CommConfig config;
    ParseTextProto(FLAGS_comm, "--comm", &config);
    CheckComm(config, "comm");
    int argc = arguments.argc;
    char** argv = arguments.argv;
    return RunOnRanks(&argc, &argv, config.timeout_s(),
                      [&](Communicator* comm) { return Body(config, comm); });
  }
};

GF_REGISTER(CommandRegistry, "train", TrainBenchmark);

}  // namespace
}  // namespace gf

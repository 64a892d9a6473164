#include "tools/gfbench/training_steps.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/choice/trials.h"
#include "comm/flow/mode_advice.h"
#include "solvers/report/choice.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kRate = 0.001f;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

SolverConfig SolverSettings() {
  SolverConfig config;
  config.set_base_lr(kRate);
  config.set_weight_decay(5e-4f);
  return config;
}

}  // namespace

TrainingSteps::TrainingSteps(Workload* workload, Device* device, Communicator* comm)
    : workload_(workload),
      device_(device),
      comm_(comm),
      solver_(NewSolver("solver", "SGD", SolverSettings(), workload->parameters().get())) {}

void TrainingSteps::Exchange(const CommConfig& config, std::shared_ptr<GradientTransport> transport,
                             const std::string& taken) {
  ExchangeNothing();
  const SolverConfig solver = SolverSettings();
  GradientFlowOptions options;
  options.config = WithoutWarmup(config);
  options.total_steps = 1000000;
  options.momentum = solver.momentum();
  options.nesterov = solver.nesterov();
  options.device = device_;
  options.transport = std::move(transport);
  ParameterStore* const store = workload_->parameters().get();
  options.master = store->master();
  options.weights_changed = [store] { store->SyncCompute(); };
  options.solver_state = solver_->State();
  options.chosen = [this](const ExchangeChoice& choice) {
    taken_ = choice.taken();
    if (comm_->rank() != 0) return;
    for (const std::string& line : LinesOf(choice)) std::printf("%s\n", line.c_str());
    std::fflush(stdout);  // what follows may take minutes
  };
  // Also on one rank, which shows a method's arithmetic alone.
  options.steps_ahead = StepsAhead(config, options.solver, std::max(2, comm_->size()),
                                   store->gradient().desc.dtype, device_->shares_host_memory());
  first_step_ = step_;
  flow_ = NewGradientFlow(store->layout(), store->gradient(), comm_, options);
  updated_.emplace(SolverConfig(), *store, nullptr);
  ahead_.emplace(flow_.get(), store, solver_.get(), &*updated_);
  ahead_->Prepare();
  choosing_ = config.mode() == CommConfig::AUTO && comm_->size() > 1 && store->layout().count() > 0;
  taken_ = taken;
  if (!taken.empty()) CHECK(flow_->Adopt(taken)) << taken;
}

std::vector<std::string> TrainingSteps::Advice(const CommConfig& config) const {
  const ParameterStore& store = *workload_->parameters();
  return ModeAdvice(config, store.layout(), store.gradient().desc.dtype, comm_->size());
}

void TrainingSteps::ExchangeNothing() {
  flow_.reset();
  workload_->parameters()->SetOwnCompute(false);
  choosing_ = false;
  taken_.clear();
}

std::string TrainingSteps::ChooseExchange() {
  for (int step = 0; choosing_ && taken_.empty(); ++step) {
    CHECK_LE(step, kMostStepsToChoose);
    Step();
  }
  return taken_;
}

StepTimes TrainingSteps::Step() {
  if (step_ == 1) device_->Settle();
  comm_->Barrier("step");
  std::array<double, 8> sums = {};
  int steps = 0;
  do {
    const StepTimes own = OneStep();
    const double values[] = {own.step,    own.forward,  own.backward,   own.finish,
                             own.exposed, own.transfer, own.arithmetic, own.bytes};
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    ++steps;
  } while (flow_ && !flow_->round_ends());
  for (double& sum : sums) sum /= steps;
  comm_->AllReduce(sums.data(), static_cast<int64_t>(sums.size()), ReduceOp::kMax, "times");
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]};
}

StepTimes TrainingSteps::OneStep() {
  const auto start = Clock::now();
  const bool is_ahead = flow_ && FLAGS_replay_update && ahead_->Go(step_, kRate, 1);
  const double ahead_s = is_ahead ? Seconds(Clock::now() - start) : 0;
  if (flow_) flow_->BeginStep(step_ - first_step_);
  workload_->Forward(step_++);
  const auto forward = Clock::now();
  workload_->Backward([&](const std::vector<int>& entries) {
    if (flow_) flow_->GradientsReady(entries);
  });
  const auto backward = Clock::now();
  UpdateScalars scalars;
  scalars.lr = kRate;
  scalars.gradient_scale = 1.0 / (flow_ ? flow_->summed_ranks() : comm_->size());
  solver_->SetCarried(flow_ ? flow_->carries_momentum() : std::vector<bool>());
  solver_->BeginStep(scalars);
  if (flow_) {
    flow_->Finish([&](const std::vector<ElementRange>& ranges) { Update(ranges); });
    if (flow_->local() && flow_->round_ends()) flow_->EndRound({});
  } else {
    Update({{0, workload_->parameters()->layout().count()}});
  }
  workload_->parameters()->BumpVersion();
  const auto end = Clock::now();
  const CommStats stats = flow_ ? flow_->stats() : CommStats();
  return {Seconds(end - start),
          Seconds(forward - start),
          Seconds(backward - forward),
          Seconds(end - backward),
          stats.exposed_s,
          stats.transfer_s,
          stats.arithmetic_s + ahead_s,
          static_cast<double>(stats.wire_bytes)};
}

void TrainingSteps::Update(const std::vector<ElementRange>& ranges) {
  if (FLAGS_replay_update) solver_->Update(ranges);
}

std::string TrainingSteps::Describe() const {
  return flow_ ? flow_->Describe() : "nothing is exchanged";
}

}  // namespace gf

#include "tools/gfbench/training_steps.h"

#include <chrono>
#include <utility>
#include <vector>

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

SolverConfig SolverSettings() {
  SolverConfig config;
  config.set_base_lr(0.001f);
  config.set_weight_decay(5e-4f);
  return config;
}

}  // namespace

TrainingSteps::TrainingSteps(Workload* workload, Device* device, Communicator* comm)
    : workload_(workload),
      device_(device),
      comm_(comm),
      solver_(NewSolver("solver", "SGD", SolverSettings(), workload->parameters().get())) {}

void TrainingSteps::Exchange(const CommConfig& config,
                             std::shared_ptr<GradientTransport> transport) {
  ExchangeNothing();
  const SolverConfig solver = SolverSettings();
  GradientFlowOptions options;
  options.config = config;
  options.total_steps = 1000000;
  options.config.mutable_sparse()->set_warmup_fraction(0);
  options.config.mutable_topk()->set_warmup_fraction(0);
  options.config.mutable_low_rank()->set_warmup_fraction(0);
  options.momentum = solver.momentum();
  options.nesterov = solver.nesterov();
  options.device = device_;
  options.transport = std::move(transport);
  ParameterStore* const store = workload_->parameters().get();
  options.master = store->master();
  options.weights_changed = [store] { store->SyncCompute(); };
  flow_ = NewGradientFlow(store->layout(), store->gradient(), comm_, options);
}

void TrainingSteps::ExchangeNothing() { flow_.reset(); }

StepTimes TrainingSteps::Step() {
  if (step_ == 1) device_->Settle();
  comm_->Barrier("step");
  const auto start = Clock::now();
  if (flow_) flow_->BeginStep(step_);
  workload_->Forward(step_++);
  const auto forward = Clock::now();
  workload_->Backward([&](const std::vector<int>& entries) {
    if (flow_) flow_->GradientsReady(entries);
  });
  const auto backward = Clock::now();
  UpdateScalars scalars;
  scalars.lr = 0.001;
  scalars.gradient_scale = 1.0 / comm_->size();
  solver_->SetCarried(flow_ ? flow_->carries_momentum() : std::vector<bool>());
  solver_->BeginStep(scalars);
  if (flow_) {
    flow_->Finish([&](const std::vector<ElementRange>& ranges) { Update(ranges); });
  } else {
    Update({{0, workload_->parameters()->layout().count()}});
  }
  workload_->parameters()->BumpVersion();
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

void TrainingSteps::Update(const std::vector<ElementRange>& ranges) {
  if (FLAGS_replay_update) solver_->Update(ranges);
}

std::string TrainingSteps::Describe() const {
  return flow_ ? flow_->Describe() : "nothing is exchanged";
}

}  // namespace gf

#include "solvers/cuda/cuda_solver.h"

#include <glog/logging.h>

#include <algorithm>

#include "solvers/step_factors.h"

namespace gf {

CudaSolver::CudaSolver(const SolverConfig& config, ParameterStore* store)
    : config_(config),
      store_(store),
      inspections_(static_cast<CudaDevice*>(store->device()), &pieces_),
      updates_(static_cast<CudaDevice*>(store->device()), &pieces_),
      ahead_(static_cast<CudaDevice*>(store->device()), &pieces_) {
  const std::vector<ParameterRule> parameter_rules = RulesOf(config, *store);
  std::vector<EntryRule> rules;
  for (const PoolEntry& entry : store->layout().entries()) {
    const ParameterRule& rule = parameter_rules[rules.size()];
    const int index = static_cast<int>(rules.size()), first = static_cast<int>(pieces_.size());
    const int64_t end = entry.offset + entry.count;
    for (int64_t begin = entry.offset; begin < end; begin += kPieceSize) {
      pieces_.push_back({begin, std::min(begin + kPieceSize, end), index});
    }
    rules.push_back({rule.lr_mult, config.weight_decay() * rule.decay_mult, rule.adaptive, first,
                     static_cast<int>(pieces_.size())});
  }
  Device* const device = store->device();
  const auto allocate = [&](size_t bytes) {
    memory_.push_back(device->Allocate(bytes));
    return memory_.back().get();
  };
  const auto upload = [&](const auto& values) {
    const size_t bytes = values.size() * sizeof(values[0]);
    void* const data = allocate(bytes);
    if (bytes > 0) device->CopyFromHost(values.data(), data, bytes, device->compute_stream());
    return data;
  };
  pools_.pieces = static_cast<const PoolPiece*>(upload(pieces_));
  pools_.piece_count = static_cast<int>(pieces_.size());
  pools_.rules = static_cast<const EntryRule*>(upload(rules));
  pools_.entries = static_cast<int>(rules.size());
  pools_.sums = static_cast<double*>(allocate(2 * pieces_.size() * sizeof(double)));
  pools_.rates = static_cast<double*>(allocate(rules.size() * sizeof(double)));
  pools_.numbers = static_cast<StepNumbers*>(allocate(sizeof(StepNumbers)));
  pools_.bad = static_cast<int*>(allocate(sizeof(int)));
  pools_.type = store->gradient().desc.dtype;
  pools_.weights = store->master().as<float>();
  pools_.gradients = store->gradient().data;
}

Tensor CudaSolver::NewState() const {
  Tensor state;
  state.desc = {Shape({store_->layout().count()}), DType::kFP32, Layout()};
  state.owner = store_->device()->Allocate(state.desc.bytes());
  state.data = state.owner.get();
  return state;
}

void CudaSolver::FindCompute() {
  void* const compute = store_->has_own_compute() ? store_->compute().data : nullptr;
  // Recorded updates hold the pool.
  CHECK(!updated_ || compute == pools_.compute) << "the compute pool has changed during a job";
  pools_.compute = compute;
}

void CudaSolver::BeginStep(const UpdateScalars& scalars) {
  FindCompute();
  StepNumbers numbers;
  numbers.lr = scalars.lr;
  numbers.gradient_scale = scalars.gradient_scale;
  numbers.only_if_finite = scalars.only_if_finite;
  numbers.momentum = MomentumFactorsOf(config_, scalars);
  numbers.adaptive = AdaptiveFactorsOf(config_, scalars, default_epsilon());
  BeginUpdates(pools_, numbers, stream());
  finite_ = nullptr;
  inspections_.BeginStep();
  updates_.BeginStep();
}

void CudaSolver::Inspect(const std::vector<ElementRange>& ranges) {
  finite_ = nullptr;
  inspections_.Run(ranges, record(), [this](const RangeList& list) { EnqueueInspect(list); });
}

void CudaSolver::Update(const std::vector<ElementRange>& ranges) {
  updated_ = true;
  updates_.Run(ranges, record(), [this](const RangeList& list) { EnqueueUpdate(list); });
}

void CudaSolver::StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges,
                           double lr, double scale) {
  CHECK(store_->has_own_compute());
  FindCompute();
  ahead_.BeginStep();
  // The rate is an argument of the kernel, so nothing is recorded.
  ahead_.Run(ranges, false, [&](const RangeList& list) {
    WriteAhead(pools_, list, residual.as<float>(), lr * scale, stream());
  });
}

void CudaSolver::ReadFinite() {
  Device* const device = store_->device();
  finite_ = device->Read(pools_.bad, sizeof(int), device->compute_stream());
}

bool CudaSolver::Finite() {
  if (finite_ == nullptr) ReadFinite();
  return *static_cast<const int*>(finite_->Wait()) == 0;
}

}  // namespace gf

#include "solvers/cuda/cuda_solver.h"

#include <algorithm>

#include "solvers/cuda/pool_kernels.h"
#include "solvers/solver_checks.h"

namespace gf {

CudaSolver::CudaSolver(const SolverConfig& config, ParameterStore* store)
    : config_(config), store_(store) {
  CheckDecay(config);
  const std::vector<ParameterRule> parameter_rules = RulesOf(config, store->layout());
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
  pools_.rules = static_cast<const EntryRule*>(upload(rules));
  pools_.entries = static_cast<int>(rules.size());
  pools_.sums = static_cast<double*>(allocate(2 * pieces_.size() * sizeof(double)));
  pools_.rates = static_cast<double*>(allocate(rules.size() * sizeof(double)));
  pools_.bad = static_cast<int*>(allocate(sizeof(int)));
  pools_.type = store->gradient().desc.dtype;
  pools_.weights = store->master().as<float>();
  pools_.compute = pools_.type == DType::kFP32 ? nullptr : store->compute().data;
  pools_.gradients = store->gradient().data;
}

Tensor CudaSolver::NewState() const {
  Tensor state;
  state.desc = {Shape({store_->layout().count()}), DType::kFP32, Layout()};
  state.owner = store_->device()->Allocate(state.desc.bytes());
  state.data = state.owner.get();
  return state;
}

void CudaSolver::ClearSums() {
  store_->device()->Zero(pools_.sums, 2 * pieces_.size() * sizeof(double),
                         store_->device()->compute_stream());
}

void CudaSolver::ClearBad() {
  store_->device()->Zero(pools_.bad, sizeof(int), store_->device()->compute_stream());
}

bool CudaSolver::IsBad() const {
  int bad = 0;
  store_->device()->CopyToHost(pools_.bad, &bad, sizeof(bad), store_->device()->compute_stream());
  return bad != 0;
}

bool CudaSolver::Inspect(const ElementRange& range) {
  ClearBad();
  const char* const gradients = static_cast<const char*>(pools_.gradients);
  FindNotFinite(pools_.type, gradients + range.begin * SizeOf(pools_.type), range.end - range.begin,
                pools_.bad, stream());
  return !IsBad();
}

bool CudaSolver::InspectSquares(const ElementRange& range) {
  ClearBad();
  AddSquares(pools_, Pieces(range), stream());
  return !IsBad();
}

UpdateRange CudaSolver::Pieces(const ElementRange& range) const {
  const auto first = std::partition_point(pieces_.begin(), pieces_.end(),
                                          [&](const PoolPiece& p) { return p.end <= range.begin; });
  const auto last = std::partition_point(first, pieces_.end(),
                                         [&](const PoolPiece& p) { return p.begin < range.end; });
  return {range.begin, range.end, static_cast<int>(first - pieces_.begin()),
          static_cast<int>(last - pieces_.begin())};
}

}  // namespace gf

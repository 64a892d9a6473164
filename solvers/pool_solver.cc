#include "solvers/pool_solver.h"

#include <glog/logging.h>

#include <atomic>

namespace gf {

PoolSolver::PoolSolver(const SolverConfig& config, ParameterStore* store)
    : config_(config), store_(store), rules_(RulesOf(config, *store)) {
  const DType type = store->gradient().desc.dtype;
  CHECK(type == DType::kFP32 || type == DType::kBF16) << Name(type);
  CHECK(type == store->compute().desc.dtype) << Name(store->compute().desc.dtype);
}

Tensor PoolSolver::NewState() const {
  Device* const device = store_->device();
  Tensor state;
  state.desc = {Shape({store_->layout().count()}), DType::kFP32, Layout()};
  state.owner = device->Allocate(state.desc.bytes());
  state.data = state.owner.get();
  // Writes the pool before anything reads it: a page that is read first would be allocated twice.
  device->Zero(state.data, state.desc.bytes(), device->compute_stream());
  return state;
}

void PoolSolver::BeginStep(const UpdateScalars& scalars) {
  scalars_ = scalars;
  finite_ = true;
}

void PoolSolver::Inspect(const std::vector<ElementRange>& ranges) {
  std::atomic<bool> finite{true};
  WithTypes([&](const auto& kernels, const auto* g, const auto*) {
    ForPieces(ranges, [&](int, int64_t begin, int64_t end) {
      if (!kernels.finite(g + begin, end - begin)) finite = false;
    });
  });
  AddFinite(finite);
}

void PoolSolver::StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges,
                           double lr, double scale) {
  CHECK(store_->has_own_compute());
  const float* const w = store_->master().as<float>();
  const float* const h = residual.as<float>();
  WithTypes([&](const auto& kernels, const auto*, auto* compute) {
    ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
      const auto rate = static_cast<float>(lr * rules_[entry].lr_mult * scale);
      kernels.ahead(w + begin, compute + begin, h + begin, end - begin, rate);
    });
  });
}

}  // namespace gf

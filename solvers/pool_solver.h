#pragma once

#include <vector>

#include "solvers/parameter_rules.h"
#include "solvers/pool_ranges.h"
#include "solvers/solver.h"
#include "solvers/update_kernels.h"

namespace gf {

// The common part of solvers on the CPU.
class PoolSolver : public Solver {
 public:
  void BeginStep(const UpdateScalars& scalars) override;
  void Inspect(const std::vector<ElementRange>& ranges) override;
  void Update(const std::vector<ElementRange>& ranges) final {
    if (finite_ || !scalars_.only_if_finite) Apply(ranges);
  }
  bool Finite() override { return finite_; }
  void StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges, double lr,
                 double scale) override;

 protected:
  // `config` has passed CheckUpdate (NewSolver). The store must outlive the solver.
  PoolSolver(const SolverConfig& config, ParameterStore* store);

  // Performs the update.
  virtual void Apply(const std::vector<ElementRange>& ranges) = 0;

  // Creates a zeroed FP32 pool.
  Tensor NewState() const;

  // Calls body(kernels, gradients, compute) with the kernels and pools of the gradients' type,
  // float* or uint16_t*.
  template <typename Body>
  void WithTypes(const Body& body) const {
    const Tensor &gradient = store_->gradient(), &compute = store_->compute();
    if (gradient.desc.dtype == DType::kFP32) {
      body(Updates().fp32, gradient.as<float>(), compute.as<float>());
    } else {
      body(Updates().bf16, gradient.as<uint16_t>(), compute.as<uint16_t>());
    }
  }

  // Calls body(index of the entry, begin, end) in parallel for the pieces of `ranges`.
  template <typename Body>
  void ForPieces(const std::vector<ElementRange>& ranges, const Body& body) const {
    const PoolEntry* const first = store_->layout().entries().data();
    for (const ElementRange& range : ranges) {
      ForEntries(store_->layout(), range.begin, range.end,
                 [&](const PoolEntry& entry, int64_t begin, int64_t end) {
                   body(static_cast<int>(&entry - first), begin, end);
                 });
    }
  }

  // Records whether the elements that Inspect examined are finite.
  void AddFinite(bool finite) { finite_ = finite_ && finite; }
  const UpdateScalars& scalars() const { return scalars_; }

  const SolverConfig& config() const { return config_; }
  ParameterStore* store() const { return store_; }
  const ParameterRule& rule(int entry) const { return rules_[entry]; }
  float decay(int entry) const { return config_.weight_decay() * rules_[entry].decay_mult; }

 private:
  const SolverConfig config_;
  ParameterStore* const store_;
  const std::vector<ParameterRule> rules_;
  UpdateScalars scalars_;
  bool finite_ = true;
};

}  // namespace gf

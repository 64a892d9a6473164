// Estimates of the solvers of solvers/cuda, see Note [A step on paper].

#include <algorithm>
#include <utility>
#include <vector>

#include "core/config/solver_facts.h"
#include "core/estimate/estimate_device.h"
#include "solvers/adaptive_facts.h"
#include "solvers/parameter_rules.h"
#include "solvers/solver.h"

namespace gf {
namespace {

constexpr int64_t kFloat = sizeof(float);

class SolverEstimate : public Solver {
 public:
  void BeginStep(const UpdateScalars& scalars) override { Launch({}, 0); }
  void Inspect(const std::vector<ElementRange>& ranges) override { Launch(ranges, gradient_); }
  bool Finite() override {
    Launch({}, 0);
    return true;
  }
  std::vector<std::pair<std::string, Tensor>> State() const override { return states_; }

 protected:
  // `states`: names of the FP32 pools of the solver's state.
  SolverEstimate(const SolverConfig& config, ParameterStore* store,
                 const std::vector<std::string>& states)
      : device_(static_cast<EstimateDevice*>(store->device())),
        gradient_(static_cast<int64_t>(SizeOf(store->gradient().desc.dtype))),
        compute_(gradient_ == kFloat ? 0 : gradient_) {
    for (const std::string& name : states) {
      Tensor state;
      state.desc = {Shape({store->layout().count()}), DType::kFP32, Layout()};
      state.owner = device_->Allocate(state.desc.bytes());
      state.data = state.owner.get();
      states_.emplace_back(name, std::move(state));
    }
    const double work = MatrixMemory(config, store->layout(), true);
    if (work > 0) work_ = device_->Allocate(static_cast<size_t>(work));
  }

  // Records one launch that moves `bytes` bytes per element.
  void Launch(const std::vector<ElementRange>& ranges, int64_t bytes) const {
    Operation operation;
    operation.kind = OperationKind::kUpdate;
    for (const ElementRange& range : ranges) operation.bytes += (range.end - range.begin) * bytes;
    Add(std::move(operation));
  }
  void Add(Operation operation) const { device_->Add(std::move(operation)); }
  // Bytes per element of the gradients, and of the compute weights if they are not the master
  // weights.
  int64_t gradient() const { return gradient_; }
  int64_t compute() const { return compute_; }

 private:
  EstimateDevice* const device_;
  const int64_t gradient_, compute_;
  std::vector<std::pair<std::string, Tensor>> states_;
  std::shared_ptr<void> work_;
};

class MomentumEstimate : public SolverEstimate {
 public:
  MomentumEstimate(const SolverConfig& config, ParameterStore* store)
      : SolverEstimate(config, store, SolverFactsOf("SGD").states) {}
  // Reads weight, velocity and gradient; writes weights and velocity.
  void Update(const std::vector<ElementRange>& ranges) override {
    Launch(ranges, 4 * kFloat + gradient() + compute());
  }
};

// LARS and LARC.
class NormEstimate : public MomentumEstimate {
 public:
  NormEstimate(const SolverConfig& config, ParameterStore* store)
      : MomentumEstimate(config, store) {}
  bool whole_tensors() const override { return true; }
  void BeginStep(const UpdateScalars& scalars) override {
    MomentumEstimate::BeginStep(scalars);
    inspected_ = false;
  }
  // Reads weight and gradient for the norms.
  void Inspect(const std::vector<ElementRange>& ranges) override {
    inspected_ = true;
    Launch(ranges, kFloat + gradient());
  }
  void Update(const std::vector<ElementRange>& ranges) override {
    if (!inspected_) {
      Inspect(ranges);
      inspected_ = false;
    }
    Launch({}, 0);  // the rates of the tensors
    MomentumEstimate::Update(ranges);
  }

 private:
  bool inspected_ = false;
};

class LambEstimate : public SolverEstimate {
 public:
  LambEstimate(const SolverConfig& config, ParameterStore* store)
      : SolverEstimate(config, store, SolverFactsOf("LAMB").states) {}
  bool whole_tensors() const override { return true; }
  void Update(const std::vector<ElementRange>& ranges) override {
    // Reads weight, mean, variance and gradient; writes mean and variance.
    Launch(ranges, 5 * kFloat + gradient());
    Launch({}, 0);  // the rates of the tensors
    // Reads weight, mean and variance; writes weights.
    Launch(ranges, 4 * kFloat + compute());
  }
};

class MuonEstimate : public SolverEstimate {
 public:
  MuonEstimate(const SolverConfig& config, ParameterStore* store)
      : SolverEstimate(config, store, SolverFactsOf("Muon").states),
        store_(store),
        rules_(RulesOf(config, *store)),
        iterations_(config.muon().iterations()) {}
  bool whole_tensors() const override { return true; }

  void Update(const std::vector<ElementRange>& ranges) override {
    std::vector<ElementRange> matrices, others;
    const auto& entries = store_->layout().entries();
    for (const ElementRange& range : ranges) {
      for (size_t i = 0; i < entries.size(); ++i) {
        const PoolEntry& entry = entries[i];
        if (entry.offset < range.begin || entry.offset >= range.end) continue;
        const bool is_matrix = IsMatrix(entry, rules_[i].adaptive);
        (is_matrix ? matrices : others).push_back({entry.offset, entry.offset + entry.count});
      }
    }
    // As AdamW.
    Launch(others, 6 * kFloat + gradient() + compute());
    if (matrices.empty()) return;
    // Reads mean and gradient; writes mean and direction.
    Launch(matrices, 3 * kFloat + gradient());
    Launch({}, 0);  // the norms of the directions
    Launch(matrices, 2 * kFloat);
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto same = [&](const ElementRange& r) { return r.begin == entries[i].offset; };
      if (std::any_of(matrices.begin(), matrices.end(), same)) Multiply(entries[i]);
    }
    // Reads weight and direction; writes weights.
    Launch(matrices, 3 * kFloat + compute());
  }

 private:
  // The Newton-Schulz iterations; their matrices count as FLOPs, not as bytes.
  void Multiply(const PoolEntry& entry) const {
    const int64_t rows = entry.shape[0], columns = entry.count / rows;
    const int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
    Operation operation;
    operation.kind = OperationKind::kUpdate;
    // Three products and a polynomial; the result of an odd number is copied.
    operation.launches = 4 * iterations_ + iterations_ % 2;
    operation.flops =
        iterations_ * (4 * shorter * shorter * longer + 2 * shorter * shorter * shorter);
    operation.arithmetic = gradient() == kFloat ? Arithmetic::kFP32 : Arithmetic::kTF32;
    Add(std::move(operation));
  }

  ParameterStore* const store_;
  const std::vector<ParameterRule> rules_;
  const int iterations_;
};

// Adam, AdamW, AdaGrad, RMSProp and AdaDelta.
template <AdaptiveRule kRule>
class AdaptiveEstimate : public SolverEstimate {
 public:
  AdaptiveEstimate(const SolverConfig& config, ParameterStore* store)
      : SolverEstimate(config, store, FactsOf(kRule).states),
        pools_(1 + static_cast<int64_t>(FactsOf(kRule).states.size())) {}
  // Reads weight, state and gradient; writes weights and state.
  void Update(const std::vector<ElementRange>& ranges) override {
    Launch(ranges, 2 * pools_ * kFloat + gradient() + compute());
  }

 private:
  const int64_t pools_;  // weights and state
};

GF_REGISTER(SolverRegistry, "cuda_estimate/SGD", MomentumEstimate);
GF_REGISTER(SolverRegistry, "cuda_estimate/LARS", NormEstimate);
GF_REGISTER(SolverRegistry, "cuda_estimate/LARC", NormEstimate);
GF_REGISTER(SolverRegistry, "cuda_estimate/LAMB", LambEstimate);
GF_REGISTER(SolverRegistry, "cuda_estimate/Muon", MuonEstimate);
GF_REGISTER(SolverRegistry, "cuda_estimate/Adam", AdaptiveEstimate<AdaptiveRule::kAdam>);
GF_REGISTER(SolverRegistry, "cuda_estimate/AdamW", AdaptiveEstimate<AdaptiveRule::kAdamW>);
GF_REGISTER(SolverRegistry, "cuda_estimate/AdaGrad", AdaptiveEstimate<AdaptiveRule::kAdaGrad>);
GF_REGISTER(SolverRegistry, "cuda_estimate/RMSProp", AdaptiveEstimate<AdaptiveRule::kRmsProp>);
GF_REGISTER(SolverRegistry, "cuda_estimate/AdaDelta", AdaptiveEstimate<AdaptiveRule::kAdaDelta>);

}  // namespace
}  // namespace gf

// SGD, LARS and LARC; solvers/momentum_solver.h and momentum_rules.cc have the formulas.

#include <algorithm>

#include "solvers/cuda/cuda_solver.h"

namespace gf {
namespace {

class CudaMomentum : public CudaSolver {
 public:
  CudaMomentum(const SolverConfig& config, ParameterStore* store)
      : CudaSolver(config, store),
        velocity_(NewState()),
        device_(store->device()),
        carried_(store->layout().entries().size()),
        carried_memory_(device_->Allocate(carried_.size())) {
    pools()->first = velocity_.as<float>();
    pools()->carried = static_cast<const uint8_t*>(carried_memory_.get());
  }

  void SetCarried(const std::vector<bool>& entries) override {
    std::vector<uint8_t> carried(entries.begin(), entries.end());
    carried.resize(carried_.size());
    if (carried == carried_) return;
    carried_ = std::move(carried);
    device_->CopyFromHost(carried_.data(), carried_memory_.get(), carried_.size(),
                          device_->compute_stream());
  }

  // The vector's place stays the same during a job, so recorded updates find it.
  void SetDecaySteps(const DecaySteps& steps) override {
    pools()->decay_steps = steps.steps.as<float>();
    pools()->decay_chunk = std::max<int64_t>(steps.chunk, 1);
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"momentum", velocity_}};
  }

 protected:
  void EnqueueUpdate(const RangeList& list) override {
    UpdatePools call = *pools();
    if (!own_rates()) call.rates = nullptr;
    MomentumUpdate(call, list, config().momentum_form() == SolverConfig::RATE_INSIDE, stream());
  }

  // Whether tensors use the learning rates in `rates` instead of the schedule's rate.
  virtual bool own_rates() const { return false; }

 private:
  Tensor velocity_;
  Device* const device_;
  std::vector<uint8_t> carried_;                // on the host
  const std::shared_ptr<void> carried_memory_;  // UpdatePools::carried
};

template <RateRule kRule>
class CudaNormSolver : public CudaMomentum {
 public:
  CudaNormSolver(const SolverConfig& config, ParameterStore* store) : CudaMomentum(config, store) {}

  bool whole_tensors() const override { return true; }

  void BeginStep(const UpdateScalars& scalars) override {
    CudaMomentum::BeginStep(scalars);
    inspected_ = false;
  }

  void Inspect(const std::vector<ElementRange>& ranges) override {
    inspected_ = true;
    CudaMomentum::Inspect(ranges);
  }

  void Update(const std::vector<ElementRange>& ranges) override {
    if (!inspected_) CudaMomentum::Inspect(ranges);
    CudaMomentum::Update(ranges);
  }

 protected:
  void EnqueueInspect(const RangeList& list) override { AddSquares(*pools(), list, stream()); }

  // Rates of tensors outside the ranges are wrong and not used.
  void EnqueueUpdate(const RangeList& list) override {
    SetRates(*pools(), kRule, config().trust_coefficient(), config().epsilon(), stream());
    CudaMomentum::EnqueueUpdate(list);
  }

  bool own_rates() const override { return true; }

 private:
  bool inspected_ = false;
};

GF_REGISTER(SolverRegistry, "cuda/SGD", CudaMomentum);
GF_REGISTER(SolverRegistry, "cuda/LARS", CudaNormSolver<RateRule::kLars>);
GF_REGISTER(SolverRegistry, "cuda/LARC", CudaNormSolver<RateRule::kLarc>);

}  // namespace
}  // namespace gf

// SGD, LARS and LARC; solvers/momentum_solver.h and momentum_rules.cc have the formulas.

#include "solvers/cuda/cuda_solver.h"
#include "solvers/solver_checks.h"

namespace gf {
namespace {

class CudaMomentum : public CudaSolver {
 public:
  CudaMomentum(const SolverConfig& config, ParameterStore* store)
      : CudaSolver(config, store), velocity_(NewState()) {
    CheckMomentum(config);
    pools()->first = velocity_.as<float>();
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
};

template <RateRule kRule>
class CudaNormSolver : public CudaMomentum {
 public:
  CudaNormSolver(const SolverConfig& config, ParameterStore* store) : CudaMomentum(config, store) {
    CheckTrust(config);
  }

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

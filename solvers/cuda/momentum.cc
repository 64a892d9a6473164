// SGD, LARS and LARC: see solvers/momentum_solver.h, lars.cc and larc.cc for the formulas.

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

  void Update(const std::vector<ElementRange>& ranges, const UpdateScalars& scalars) override {
    const bool inside = config().momentum_form() == SolverConfig::RATE_INSIDE;
    double momentum = config().momentum();
    if (inside && config().correct_momentum() && scalars.last_lr > 0) {
      momentum *= scalars.lr / scalars.last_lr;
    }
    MomentumFactors factors;
    factors.gradient_rate = factors.weight_rate = 1;
    factors.momentum = static_cast<float>(momentum);
    factors.scale = static_cast<float>(scalars.gradient_scale);
    factors.nesterov = config().nesterov();
    UpdatePools call = *pools();
    if (!own_rates()) call.rates = nullptr;
    for (const ElementRange& range : ranges) {
      MomentumUpdate(call, Pieces(range), factors, inside, scalars.lr, stream());
    }
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"momentum", velocity_}};
  }

 protected:
  // Whether each tensor has the learning rate in `rates` instead of the schedule's.
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

  void BeginStep() override {
    ClearSums();
    inspected_ = false;
  }

  bool Inspect(const ElementRange& range) override {
    inspected_ = true;
    return InspectSquares(range);
  }

  // Rates of tensors that lie outside the ranges are wrong, and not used.
  void Update(const std::vector<ElementRange>& ranges, const UpdateScalars& scalars) override {
    if (!inspected_) {
      for (const ElementRange& range : ranges) AddSquares(*pools(), Pieces(range), stream());
    }
    RateCall call;
    call.rule = kRule;
    call.lr = scalars.lr;
    call.trust = config().trust_coefficient();
    call.epsilon = config().epsilon();
    call.gradient_scale = scalars.gradient_scale;
    SetRates(*pools(), call, stream());
    CudaMomentum::Update(ranges, scalars);
  }

 protected:
  bool own_rates() const override { return true; }

 private:
  bool inspected_ = false;
};

GF_REGISTER_SOLVER("cuda/SGD", CudaMomentum);
GF_REGISTER_SOLVER("cuda/LARS", CudaNormSolver<RateRule::kLars>);
GF_REGISTER_SOLVER("cuda/LARC", CudaNormSolver<RateRule::kLarc>);

}  // namespace
}  // namespace gf

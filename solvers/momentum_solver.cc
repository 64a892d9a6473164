#include "solvers/momentum_solver.h"

#include "solvers/solver_checks.h"

namespace gf {

MomentumSolver::MomentumSolver(const SolverConfig& config, ParameterStore* store)
    : PoolSolver(config, store), velocity_(NewState()) {
  CheckMomentum(config);
}

void MomentumSolver::Update(const std::vector<ElementRange>& ranges, const UpdateScalars& scalars) {
  const bool inside = config().momentum_form() == SolverConfig::RATE_INSIDE;
  double momentum = config().momentum();
  if (inside && config().correct_momentum() && scalars.last_lr > 0) {
    momentum *= scalars.lr / scalars.last_lr;
  }
  float* const w = store()->master().as<float>();
  float* const v = velocity_.as<float>();
  WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
    ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
      const auto rate = static_cast<float>(Rate(entry, scalars) * rule(entry).lr_mult);
      MomentumFactors factors;
      (inside ? factors.gradient_rate : factors.weight_rate) = rate;
      (inside ? factors.weight_rate : factors.gradient_rate) = 1;
      factors.momentum = static_cast<float>(momentum);
      factors.decay = decay(entry);
      factors.scale = static_cast<float>(scalars.gradient_scale);
      factors.nesterov = config().nesterov();
      kernels.momentum(w + begin, compute + begin, v + begin, g + begin, end - begin, factors);
    });
  });
}

}  // namespace gf

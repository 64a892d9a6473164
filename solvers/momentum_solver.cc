#include "solvers/momentum_solver.h"

#include "solvers/step_factors.h"

namespace gf {

MomentumSolver::MomentumSolver(const SolverConfig& config, ParameterStore* store)
    : PoolSolver(config, store), velocity_(NewState()) {}

void MomentumSolver::Apply(const std::vector<ElementRange>& ranges) {
  const bool inside = config().momentum_form() == SolverConfig::RATE_INSIDE;
  const MomentumFactors of_step = MomentumFactorsOf(config(), scalars());
  float* const w = store()->master().as<float>();
  float* const v = velocity_.as<float>();
  WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
    ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
      MomentumFactors factors = of_step;
      (inside ? factors.gradient_rate : factors.weight_rate) =
          static_cast<float>(Rate(entry) * rule(entry).lr_mult);
      factors.decay = decay(entry);
      factors.carried = !carried_.empty() && carried_[entry];
      kernels.momentum(w + begin, compute + begin, v + begin, g + begin, end - begin, factors);
    });
  });
}

}  // namespace gf

#include "solvers/momentum_solver.h"

#include <algorithm>

#include "solvers/step_factors.h"

namespace gf {

MomentumSolver::MomentumSolver(const SolverConfig& config, ParameterStore* store)
    : PoolSolver(config, store), velocity_(NewState()) {}

template <typename Body>
void MomentumSolver::ForDecay(int64_t begin, int64_t end, const Body& body) const {
  const int64_t chunk = decay_steps_.chunk;
  if (chunk == 0) return body(begin, end, 1.f);
  for (int64_t first = begin, last = begin; first < end; first = last) {
    last = std::min(end, (first / chunk + 1) * chunk);
    body(first, last, decay_steps_.steps.as<float>()[first / chunk]);
  }
}

void MomentumSolver::Apply(const std::vector<ElementRange>& ranges) {
  const bool inside = config().momentum_form() == SolverConfig::RATE_INSIDE;
  const MomentumFactors of_step = MomentumFactorsOf(config(), scalars());
  float* const w = store()->master().as<float>();
  float* const v = velocity_.as<float>();
  WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
    ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
      MomentumFactors factors = of_step;
      const auto rate = static_cast<float>(Rate(entry) * rule(entry).lr_mult);
      (inside ? factors.gradient_rate : factors.weight_rate) = rate;
      factors.carried = !carried_.empty() && carried_[entry];
      ForDecay(begin, end, [&](int64_t first, int64_t last, float steps) {
        factors.decay = CaughtUpDecay(decay(entry), steps, rate);
        kernels.momentum(w + first, compute + first, v + first, g + first, last - first, factors);
      });
    });
  });
}

}  // namespace gf

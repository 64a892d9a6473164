#include "solvers/norm_solver.h"

#include <cmath>

namespace gf {

NormSolver::NormSolver(const SolverConfig& config, ParameterStore* store)
    : MomentumSolver(config, store),
      sums_(store->layout()),
      rates_(store->layout().entries().size()) {}

void NormSolver::BeginStep(const UpdateScalars& scalars) {
  MomentumSolver::BeginStep(scalars);
  sums_.Clear();
  inspected_ = false;
}

void NormSolver::Inspect(const std::vector<ElementRange>& ranges) {
  inspected_ = true;
  const float* const w = store()->master().as<float>();
  WithTypes([&](const auto& kernels, const auto* g, const auto*) {
    for (const ElementRange& range : ranges) {
      AddFinite(sums_.Add(range, [&](int, int64_t begin, int64_t end) {
        TensorSums::Sums sums;
        kernels.squares(w + begin, g + begin, end - begin, sums.data());
        return sums;
      }));
    }
  });
}

void NormSolver::Apply(const std::vector<ElementRange>& ranges) {
  if (!inspected_) {
    NormSolver::Inspect(ranges);
    inspected_ = false;
  }
  const int entries = static_cast<int>(rates_.size());
  for (int i = 0; i < entries; ++i) {
    const TensorSums::Sums squares = sums_.Of(i);
    const double weights = std::sqrt(squares[0]);
    const double gradient = std::sqrt(squares[1]) * scalars().gradient_scale;
    rates_[i] = rule(i).adaptive && weights > 0 && gradient > 0
                    ? LocalRate(scalars().lr, weights, gradient, decay(i))
                    : scalars().lr;
  }
  MomentumSolver::Apply(ranges);
}

}  // namespace gf

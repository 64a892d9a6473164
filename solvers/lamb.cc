#include <cmath>

#include "core/config/solver_facts.h"
#include "solvers/pool_solver.h"
#include "solvers/step_factors.h"
#include "solvers/tensor_sums.h"

namespace gf {
namespace {

// LAMB (You et al., arXiv 1904.00962, algorithm 2):
//   m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2
//   r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay * w
//   w -= lr * |w| / |r| * r
// where |w| / |r| is 1 if a norm is 0.
class Lamb : public PoolSolver {
 public:
  Lamb(const SolverConfig& config, ParameterStore* store)
      : PoolSolver(config, store), m_(NewState()), v_(NewState()), sums_(store->layout()) {}

  bool whole_tensors() const override { return true; }
  void BeginStep(const UpdateScalars& scalars) override {
    PoolSolver::BeginStep(scalars);
    sums_.Clear();
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"mean", m_}, {"variance", v_}};
  }

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override {
    float* const w = store()->master().as<float>();
    float *const m = m_.as<float>(), *const v = v_.as<float>();
    std::vector<AdaptiveFactors> factors(
        store()->layout().entries().size(),
        AdaptiveFactorsOf(config(), scalars(), SolverFactsOf("LAMB").epsilon));
    for (size_t i = 0; i < factors.size(); ++i) factors[i].decay = decay(static_cast<int>(i));
    WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
      for (const ElementRange& range : ranges) {
        sums_.Add(range, [&](int entry, int64_t begin, int64_t end) {
          TensorSums::Sums sums;
          kernels.lamb_moments(w + begin, m + begin, v + begin, g + begin, end - begin,
                               factors[entry], sums.data());
          return sums;
        });
      }
      const std::vector<double> rates = Rates();
      ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
        kernels.lamb_apply(w + begin, compute + begin, m + begin, v + begin, end - begin,
                           factors[entry], static_cast<float>(rates[entry]));
      });
    });
  }

 private:
  // The learning rate of each entry.
  std::vector<double> Rates() const {
    std::vector<double> rates;
    for (int i = 0; i < static_cast<int>(store()->layout().entries().size()); ++i) {
      const TensorSums::Sums squares = sums_.Of(i);
      const double weights = std::sqrt(squares[0]), direction = std::sqrt(squares[1]);
      const bool scaled = rule(i).adaptive && weights > 0 && direction > 0;
      rates.push_back(scalars().lr * rule(i).lr_mult * (scaled ? weights / direction : 1));
    }
    return rates;
  }

  Tensor m_, v_;
  TensorSums sums_;  // sums of squares: weights, directions
};

GF_REGISTER(SolverRegistry, "cpu/LAMB", Lamb);

}  // namespace
}  // namespace gf

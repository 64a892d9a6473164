// Adam, AdamW, AdaGrad, RMSProp and AdaDelta: solvers that scale each element's step by a history
// of this element's gradients. Adapt in adaptive_inline.h has the formulas.

#include "solvers/adaptive_facts.h"
#include "solvers/pool_solver.h"
#include "solvers/step_factors.h"

namespace gf {
namespace {

template <AdaptiveRule kRule>
class AdaptiveSolver : public PoolSolver {
 public:
  AdaptiveSolver(const SolverConfig& config, ParameterStore* store) : PoolSolver(config, store) {
    for (const std::string& name : FactsOf(kRule).states) states_.emplace_back(name, NewState());
  }

  std::vector<std::pair<std::string, Tensor>> State() const override { return states_; }

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override {
    const AdaptiveFactors of_step = AdaptiveFactorsOf(config(), scalars(), FactsOf(kRule).epsilon);
    float* const w = store()->master().as<float>();
    // The same pool where a rule has one, whose kernels do not touch the second one.
    const Tensor &first = states_.front().second, &second = states_.back().second;
    WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
      ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
        AdaptiveFactors factors = of_step;
        factors.decay = decay(entry);
        const auto rate = static_cast<float>(scalars().lr * rule(entry).lr_mult);
        kernels.adaptive(kRule, w + begin, compute + begin, first.as<float>() + begin,
                         second.as<float>() + begin, g + begin, end - begin, factors, rate);
      });
    });
  }

 private:
  std::vector<std::pair<std::string, Tensor>> states_;
};

GF_REGISTER(SolverRegistry, "cpu/Adam", AdaptiveSolver<AdaptiveRule::kAdam>);
GF_REGISTER(SolverRegistry, "cpu/AdamW", AdaptiveSolver<AdaptiveRule::kAdamW>);
GF_REGISTER(SolverRegistry, "cpu/AdaGrad", AdaptiveSolver<AdaptiveRule::kAdaGrad>);
GF_REGISTER(SolverRegistry, "cpu/RMSProp", AdaptiveSolver<AdaptiveRule::kRmsProp>);
GF_REGISTER(SolverRegistry, "cpu/AdaDelta", AdaptiveSolver<AdaptiveRule::kAdaDelta>);

}  // namespace
}  // namespace gf

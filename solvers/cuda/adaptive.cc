// Adam, AdamW, AdaGrad, RMSProp and AdaDelta; solvers/adaptive_inline.h has the formulas.

#include "solvers/adaptive_facts.h"
#include "solvers/cuda/cuda_solver.h"

namespace gf {
namespace {

template <AdaptiveRule kRule>
class CudaAdaptive : public CudaSolver {
 public:
  CudaAdaptive(const SolverConfig& config, ParameterStore* store) : CudaSolver(config, store) {
    for (const std::string& name : FactsOf(kRule).states) states_.emplace_back(name, NewState());
    // The same pool where a rule has one, whose kernels do not touch the second one.
    const Tensor &first = states_.front().second, &second = states_.back().second;
    pools()->first = first.as<float>();
    pools()->second = second.as<float>();
  }

  std::vector<std::pair<std::string, Tensor>> State() const override { return states_; }

 protected:
  void EnqueueUpdate(const RangeList& list) override {
    AdaptiveUpdate(*pools(), kRule, list, stream());
  }
  float default_epsilon() const override { return FactsOf(kRule).epsilon; }

 private:
  std::vector<std::pair<std::string, Tensor>> states_;
};

GF_REGISTER(SolverRegistry, "cuda/Adam", CudaAdaptive<AdaptiveRule::kAdam>);
GF_REGISTER(SolverRegistry, "cuda/AdamW", CudaAdaptive<AdaptiveRule::kAdamW>);
GF_REGISTER(SolverRegistry, "cuda/AdaGrad", CudaAdaptive<AdaptiveRule::kAdaGrad>);
GF_REGISTER(SolverRegistry, "cuda/RMSProp", CudaAdaptive<AdaptiveRule::kRmsProp>);
GF_REGISTER(SolverRegistry, "cuda/AdaDelta", CudaAdaptive<AdaptiveRule::kAdaDelta>);

}  // namespace
}  // namespace gf

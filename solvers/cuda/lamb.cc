// LAMB; solvers/lamb.cc has the formulas.

#include "core/config/solver_facts.h"
#include "solvers/cuda/cuda_solver.h"

namespace gf {
namespace {

class CudaLamb : public CudaSolver {
 public:
  CudaLamb(const SolverConfig& config, ParameterStore* store)
      : CudaSolver(config, store), m_(NewState()), v_(NewState()) {
    pools()->first = m_.as<float>();
    pools()->second = v_.as<float>();
  }

  bool whole_tensors() const override { return true; }
  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"mean", m_}, {"variance", v_}};
  }

 protected:
  void EnqueueUpdate(const RangeList& list) override {
    LambMoments(*pools(), list, stream());
    SetRates(*pools(), RateRule::kLamb, 0, 0, stream());
    LambApply(*pools(), list, stream());
  }
  float default_epsilon() const override { return SolverFactsOf("LAMB").epsilon; }

 private:
  Tensor m_, v_;
};

GF_REGISTER(SolverRegistry, "cuda/LAMB", CudaLamb);

}  // namespace
}  // namespace gf

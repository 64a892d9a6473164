// LAMB: see solvers/lamb.cc for the formulas.

#include <cmath>

#include "solvers/cuda/cuda_solver.h"
#include "solvers/solver_checks.h"

namespace gf {
namespace {

class CudaLamb : public CudaSolver {
 public:
  CudaLamb(const SolverConfig& config, ParameterStore* store)
      : CudaSolver(config, store), m_(NewState()), v_(NewState()) {
    CheckLamb(config);
    pools()->first = m_.as<float>();
    pools()->second = v_.as<float>();
  }

  bool whole_tensors() const override { return true; }
  void BeginStep() override { ClearSums(); }

  void Update(const std::vector<ElementRange>& ranges, const UpdateScalars& scalars) override {
    const auto correction = [&](float beta) {
      return static_cast<float>(
          1 / (1 - std::pow(static_cast<double>(beta), static_cast<double>(scalars.update))));
    };
    LambFactors f;
    f.beta1 = config().beta1();
    f.beta2 = config().beta2();
    f.correction1 = correction(f.beta1);
    f.correction2 = correction(f.beta2);
    f.epsilon = LambEpsilon(config());
    f.scale = static_cast<float>(scalars.gradient_scale);
    for (const ElementRange& range : ranges) LambMoments(*pools(), Pieces(range), f, stream());
    RateCall call;
    call.rule = RateRule::kLamb;
    call.lr = scalars.lr;
    SetRates(*pools(), call, stream());
    for (const ElementRange& range : ranges) LambApply(*pools(), Pieces(range), f, stream());
  }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"mean", m_}, {"variance", v_}};
  }

 private:
  Tensor m_, v_;
};

GF_REGISTER_SOLVER("cuda/LAMB", CudaLamb);

}  // namespace
}  // namespace gf

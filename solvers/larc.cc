#include <algorithm>

#include "solvers/norm_solver.h"

namespace gf {
namespace {

// LARS with the schedule's rate as a limit, "clip" (NVCaffe):
// rate = min(lr, trust_coefficient * |w| / (|g| + epsilon)), lr if a norm is 0.
class Larc : public NormSolver {
 public:
  Larc(const SolverConfig& config, ParameterStore* store) : NormSolver(config, store) {}

 protected:
  double LocalRate(double lr, double weights, double gradient, double) const override {
    return std::min(lr, config().trust_coefficient() * weights / (gradient + config().epsilon()));
  }
};

GF_REGISTER(SolverRegistry, "cpu/LARC", Larc);

}  // namespace
}  // namespace gf

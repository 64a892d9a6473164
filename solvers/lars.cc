#include "solvers/norm_solver.h"

namespace gf {
namespace {

// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv 1708.03888; the form of
// Ginsburg's implementation): rate = lr * trust_coefficient * |w| / (|g| + decay * |w| + epsilon),
// lr itself if a norm is 0.
class Lars : public NormSolver {
 public:
  Lars(const SolverConfig& config, ParameterStore* store) : NormSolver(config, store) {}

 protected:
  double LocalRate(double lr, double weights, double gradient, double decay) const override {
    return lr * config().trust_coefficient() * weights /
           (gradient + decay * weights + config().epsilon());
  }
};

GF_REGISTER(SolverRegistry, "cpu/LARS", Lars);

}  // namespace
}  // namespace gf

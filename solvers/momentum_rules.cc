// SGD, LARS and LARC: solvers with momentum that differ in the learning rate of a tensor.

#include <algorithm>

#include "solvers/norm_solver.h"

namespace gf {
namespace {

// Stochastic gradient descent with momentum: every parameter uses the schedule's learning rate.
class Sgd : public MomentumSolver {
 public:
  Sgd(const SolverConfig& config, ParameterStore* store) : MomentumSolver(config, store) {}
};

// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv 1708.03888, in the form of
// Ginsburg's implementation): rate = lr * trust_coefficient * |w| / (|g| + decay * |w| + epsilon),
// or lr if a norm is 0.
class Lars : public NormSolver {
 public:
  Lars(const SolverConfig& config, ParameterStore* store) : NormSolver(config, store) {}

 protected:
  double LocalRate(double lr, double weights, double gradient, double decay) const override {
    return lr * config().trust_coefficient() * weights /
           (gradient + decay * weights + config().epsilon());
  }
};

// LARS with the schedule's rate as an upper limit ("clip" in NVCaffe):
// rate = min(lr, trust_coefficient * |w| / (|g| + epsilon)), or lr if a norm is 0.
class Larc : public NormSolver {
 public:
  Larc(const SolverConfig& config, ParameterStore* store) : NormSolver(config, store) {}

 protected:
  double LocalRate(double lr, double weights, double gradient, double) const override {
    return std::min(lr, config().trust_coefficient() * weights / (gradient + config().epsilon()));
  }
};

GF_REGISTER(SolverRegistry, "cpu/SGD", Sgd);
GF_REGISTER(SolverRegistry, "cpu/LARS", Lars);
GF_REGISTER(SolverRegistry, "cpu/LARC", Larc);

}  // namespace
}  // namespace gf

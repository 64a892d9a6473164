#include "solvers/momentum_solver.h"

namespace gf {
namespace {

// Stochastic gradient descent with momentum: every parameter has the learning rate of the schedule.
class Sgd : public MomentumSolver {
 public:
  Sgd(const SolverConfig& config, ParameterStore* store) : MomentumSolver(config, store) {}
};

GF_REGISTER(SolverRegistry, "cpu/SGD", Sgd);

}  // namespace
}  // namespace gf

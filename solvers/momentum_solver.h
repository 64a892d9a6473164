#pragma once

#include <string>
#include <utility>
#include <vector>

#include "solvers/pool_solver.h"

namespace gf {

// Solvers whose state is a velocity v per weight. Of a parameter with the learning rate `rate`:
//   RATE_INSIDE (Caffe):    v = momentum * v + rate * (g + decay * w);  w -= v
//   RATE_OUTSIDE (PyTorch): v = momentum * v + (g + decay * w);         w -= rate * v
// With nesterov the weights take momentum * v + u instead of v, where u is what entered v. When the
// rate changes, correct_momentum multiplies the velocities of RATE_INSIDE by new / old (Goyal et
// al., arXiv 1706.02677, section 3.1): then both forms take the same steps.
class MomentumSolver : public PoolSolver {
 public:
  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"momentum", velocity_}};
  }

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override;

  // Checks momentum.
  MomentumSolver(const SolverConfig& config, ParameterStore* store);

  // The learning rate of an entry without its lr_mult.
  virtual double Rate(int entry) const { return scalars().lr; }

 private:
  Tensor velocity_;
};

}  // namespace gf

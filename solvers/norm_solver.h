#pragma once

#include <vector>

#include "solvers/momentum_solver.h"
#include "solvers/tensor_sums.h"

namespace gf {

// Base of solvers with momentum whose learning rate for a tensor depends on the L2 norms of its
// weights and its gradient. One sweep over a range computes the norms of all its tensors and checks
// that they are finite. In mode SPARSE, norms cover only the updated elements.
class NormSolver : public MomentumSolver {
 public:
  bool whole_tensors() const override { return true; }
  void BeginStep(const UpdateScalars& scalars) override;
  void Inspect(const std::vector<ElementRange>& ranges) override;

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override;

  // `config` has passed CheckUpdate (NewSolver).
  NormSolver(const SolverConfig& config, ParameterStore* store);

  double Rate(int entry) const override { return rates_[entry]; }

  // The learning rate of a tensor, given lr and its norms, which are greater than 0. `gradient` is
  // the norm of the scaled gradient, without weight decay.
  virtual double LocalRate(double lr, double weights, double gradient, double decay) const = 0;

 private:
  TensorSums sums_;  // sums of squares: weights, gradients
  bool inspected_ = false;
  std::vector<double> rates_;
};

}  // namespace gf

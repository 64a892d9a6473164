#pragma once

#include <vector>

#include "solvers/momentum_solver.h"
#include "solvers/tensor_sums.h"

namespace gf {

// Solvers with momentum whose learning rate of a tensor depends on the L2 norms of its weights and
// of its gradient. One sweep over a range gives the norms of all its tensors and tells whether they
// are finite. Under SPARSE the norms are those of the elements that are updated.
class NormSolver : public MomentumSolver {
 public:
  bool whole_tensors() const override { return true; }
  void BeginStep(const UpdateScalars& scalars) override;
  void Inspect(const std::vector<ElementRange>& ranges) override;

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override;

  // Checks trust_coefficient and epsilon.
  NormSolver(const SolverConfig& config, ParameterStore* store);

  double Rate(int entry) const override { return rates_[entry]; }

  // The rate of a tensor, given lr and its norms, both greater than 0; `gradient` is that of the
  // scaled gradient without weight decay.
  virtual double LocalRate(double lr, double weights, double gradient, double decay) const = 0;

 private:
  TensorSums sums_;  // of squares: weights, gradients
  bool inspected_ = false;
  std::vector<double> rates_;
};

}  // namespace gf

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "solvers/pool_solver.h"

namespace gf {

// Base of solvers with a velocity v per weight. With the learning rate `rate` of a parameter:
//   RATE_INSIDE (Caffe):    v = momentum * v + rate * (g + decay * w);  w -= v
//   RATE_OUTSIDE (PyTorch): v = momentum * v + (g + decay * w);         w -= rate * v
// An update that makes up for several steps (SetDecaySteps) takes decay from CaughtUpDecay.
// Gradients that carry their momentum (SetCarried) change w at their rate, and v not
// at all. With nesterov, momentum * v + u replaces v in the update of w, where u is the term added
// to v. When the rate changes, correct_momentum multiplies the velocities of RATE_INSIDE by new
// rate / old rate (Goyal et al., arXiv 1706.02677, section 3.1); both forms then take the same
// steps.
class MomentumSolver : public PoolSolver {
 public:
  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"momentum", velocity_}};
  }

  void SetCarried(const std::vector<bool>& entries) override { carried_ = entries; }
  void SetDecaySteps(const DecaySteps& steps) override { decay_steps_ = steps; }

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override;

  // `config` has passed CheckUpdate (NewSolver).
  MomentumSolver(const SolverConfig& config, ParameterStore* store);

  // Learning rate of an entry, without its lr_mult.
  virtual double Rate(int entry) const { return scalars().lr; }

 private:
  // body(first, last, steps) for the parts of [begin, end) with equal decay.
  template <typename Body>
  void ForDecay(int64_t begin, int64_t end, const Body& body) const;

  Tensor velocity_;
  std::vector<bool> carried_;
  DecaySteps decay_steps_;
};

}  // namespace gf

#pragma once

#include "comm/flow/gradient_flow.h"
#include "models/parameter_store.h"
#include "solvers/solver.h"

namespace gf {

// Note [Step-ahead error feedback]
// What SPARSE has not sent moves the weights later, when it is old; gradients computed until then
// know nothing of it. So every rank computes them where the weights would be if all that it keeps
// had been applied: at w - rate * h, with the residual h as a mean gradient (Xu, Huo and Huang,
// "Step-ahead error feedback for distributed training with compressed gradient", arXiv 2008.05823).
// The ranks' weights for computing differ therefore. They are in the store's compute pool; the
// master pool, and with it checkpoints and validation, know nothing of it. In nets of 16-bit types,
// normalization layers compute with their master weights, which are not ahead.

// Moves the weights that nets compute with.
class StepAhead {
 public:
  // `enabled`: see StepsAhead; otherwise the functions do nothing. Store and solver outlive the
  // object.
  StepAhead(bool enabled, ParameterStore* store, Solver* solver)
      : enabled_(enabled), store_(store), solver_(solver) {}

  // Gives the store a compute pool of its own, or takes it away, as the flow needs it.
  void Prepare(const GradientFlow& flow);
  // Before the first forward pass of a step whose rate is `lr`. `scale` makes a mean gradient of
  // the residual. `everything`: what does not wait may have missed its update, too.
  void Go(const GradientFlow& flow, double lr, double scale, bool everything = false);
  // Between two steps: nets compute with the weights themselves again.
  void Back();

 private:
  const bool enabled_;
  ParameterStore* const store_;
  Solver* const solver_;
};

}  // namespace gf

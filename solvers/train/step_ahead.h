#pragma once

#include "comm/flow/gradient_flow.h"
#include "models/parameter_store.h"
#include "solvers/solver.h"
#include "solvers/updated_parameters.h"

namespace gf {

// Note [Step-ahead error feedback]
// What SPARSE has not sent moves the weights later, when it is old; gradients computed until then
// know nothing of it. So every rank computes them where the weights would be if all that it keeps
// had been applied: at w - rate * h, with the residual h as a mean gradient (Xu, Huo and Huang,
// "Step-ahead error feedback for distributed training with compressed gradient", arXiv 2008.05823).
// The ranks' weights for computing differ therefore. They are in the store's compute pool; the
// master pool, and with it checkpoints and validation, know nothing of it. In nets of 16-bit types,
// normalization layers compute with their master weights, which are not ahead.

// Moves the weights that nets compute with, if flow->steps_ahead(); otherwise does nothing.
class StepAhead {
 public:
  // All outlive the object.
  StepAhead(const GradientFlow* flow, ParameterStore* store, Solver* solver,
            const UpdatedParameters* updated)
      : flow_(flow), store_(store), solver_(solver), updated_(updated) {}

  // Adds the store's own compute pool if the flow may_wait(), otherwise removes it.
  void Prepare();
  // Before the first forward pass of a step whose rate is `lr`. `scale` makes a mean gradient of
  // the residual. `skipped`: the step before may have been skipped, and its sums not applied.
  // Parameters that this step does not update are not ahead. Returns whether something waits.
  bool Go(int64_t step, double lr, double scale, bool skipped = false);
  // Between two steps: nets compute with the weights themselves again.
  void Back();

 private:
  const GradientFlow* const flow_;
  ParameterStore* const store_;
  Solver* const solver_;
  const UpdatedParameters* const updated_;
};

}  // namespace gf

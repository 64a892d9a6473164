#pragma once

#include "core/pool_layout.h"

namespace gf {

// Note [Units of residuals]
// In other modes a residual h is a gradient: when it is sent, the solver's momentum m makes it move
// a weight by (1 + m + m^2 + ...) h, in the unit of the rate. With TOPK's momentum correction it
// moves the weight by h itself, and the velocity u on the rank adds (m + m^2 + ...) u; with
// Nesterov's momentum (m^2 + m^3 + ...) u. So the gradient g = (1 - m) h + m u moves a weight as
// far as h and u, with Nesterov's momentum g = (1 - m) h + m^2 u; and a gradient g as far as the
// residual g / (1 - m).

// The solver's momentum, below 1.
struct MomentumOfSolver {
  float momentum = 0;
  bool nesterov = false;
};

// Make residuals, FP32 pools of the layout in the host's memory, what other modes keep of TOPK's
// residuals and velocities, or what TOPK keeps of theirs. Only the large weights change: TOPK sends
// small tensors as a whole.
void ToGradients(const PoolLayout& layout, const MomentumOfSolver& solver, const float* velocity,
                 float* residual);
void ToTopkResiduals(const PoolLayout& layout, const MomentumOfSolver& solver, float* residual);

}  // namespace gf

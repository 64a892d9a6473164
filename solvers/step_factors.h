#pragma once

#include "core/config/job.pb.h"
#include "solvers/solver.h"
#include "solvers/update_factors.h"

namespace gf {

// The constants of a step's updates, on every device. Per-tensor values (learning rates, weight
// decay) and the rates of MomentumFactors are left at their defaults.
MomentumFactors MomentumFactorsOf(const SolverConfig& config, const UpdateScalars& scalars);
// `epsilon` is the default of solver.epsilon.
AdaptiveFactors AdaptiveFactorsOf(const SolverConfig& config, const UpdateScalars& scalars,
                                  float epsilon);

}  // namespace gf

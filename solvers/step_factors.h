#pragma once

#include "core/config/job.pb.h"
#include "solvers/solver.h"
#include "solvers/update_factors.h"

namespace gf {

// The constants of a step's updates, on every device, but for what differs from tensor to tensor
// (learning rates, weight decay) and MomentumFactors' rates.
MomentumFactors MomentumFactorsOf(const SolverConfig& config, const UpdateScalars& scalars);
LambFactors LambFactorsOf(const SolverConfig& config, const UpdateScalars& scalars);

}  // namespace gf

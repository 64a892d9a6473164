#pragma once

#include "core/config/job.pb.h"

namespace gf {

// Checks of the config that solvers share on every device. Each throws UserError.
void CheckDecay(const SolverConfig& config);
void CheckMomentum(const SolverConfig& config);
// For LARS and LARC.
void CheckTrust(const SolverConfig& config);
void CheckLamb(const SolverConfig& config);

// LAMB's epsilon: the value in the config, or 1e-6.
float LambEpsilon(const SolverConfig& config);

}  // namespace gf

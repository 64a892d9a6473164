#pragma once

#include "core/config/job.pb.h"

namespace gf {

// What solvers ask of their config, on every device; each throws UserError.
void CheckDecay(const SolverConfig& config);
void CheckMomentum(const SolverConfig& config);
// Of LARS and LARC.
void CheckTrust(const SolverConfig& config);
void CheckLamb(const SolverConfig& config);

// LAMB's epsilon: the config's or 1e-6.
float LambEpsilon(const SolverConfig& config);

}  // namespace gf

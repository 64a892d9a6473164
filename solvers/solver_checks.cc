#include "solvers/solver_checks.h"

#include <cmath>

#include "core/error.h"

namespace gf {

void CheckDecay(const SolverConfig& config) {
  const float decay = config.weight_decay();
  if (!(decay >= 0) || std::isinf(decay)) {
    ThrowUserError("solver.weight_decay is ", decay, ", expected a number >= 0");
  }
}

void CheckMomentum(const SolverConfig& config) {
  if (!(config.momentum() >= 0 && config.momentum() < 1)) {
    ThrowUserError("solver.momentum is ", config.momentum(), ", expected 0 <= momentum < 1");
  }
}

void CheckTrust(const SolverConfig& config) {
  const float trust = config.trust_coefficient(), epsilon = config.epsilon();
  if (!(trust > 0) || std::isinf(trust)) {
    ThrowUserError("solver.trust_coefficient is ", trust, ", expected a number > 0");
  }
  if (!(epsilon >= 0) || std::isinf(epsilon)) {
    ThrowUserError("solver.epsilon is ", epsilon, ", expected a number >= 0");
  }
}

void CheckLamb(const SolverConfig& config) {
  const auto check = [](const char* name, float value) {
    if (!(value >= 0 && value < 1)) {
      ThrowUserError("solver.", name, " is ", value, ", expected 0 <= ", name, " < 1");
    }
  };
  check("beta1", config.beta1());
  check("beta2", config.beta2());
  const float epsilon = LambEpsilon(config);
  if (!(epsilon > 0) || std::isinf(epsilon)) {
    ThrowUserError("solver.epsilon is ", epsilon, ", expected a number > 0 for LAMB");
  }
}

float LambEpsilon(const SolverConfig& config) {
  return config.has_epsilon() ? config.epsilon() : 1e-6f;
}

}  // namespace gf

#pragma once

#include "core/config/solver_facts.h"
#include "solvers/update_factors.h"

namespace gf {

// The type of the solver that applies a rule.
inline const char* TypeOf(AdaptiveRule rule) {
  switch (rule) {
    case AdaptiveRule::kAdam:
      return "Adam";
    case AdaptiveRule::kAdamW:
      return "AdamW";
    case AdaptiveRule::kAdaGrad:
      return "AdaGrad";
    case AdaptiveRule::kRmsProp:
      return "RMSProp";
    case AdaptiveRule::kAdaDelta:
      return "AdaDelta";
  }
  return "";
}

inline const SolverFacts& FactsOf(AdaptiveRule rule) { return SolverFactsOf(TypeOf(rule)); }

}  // namespace gf

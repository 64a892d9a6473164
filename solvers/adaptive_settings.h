#pragma once

#include <string>
#include <vector>

#include "solvers/update_factors.h"

namespace gf {

// The default of solver.epsilon for LAMB.
constexpr float kLambEpsilon = 1e-6f;

// Facts about an AdaptiveRule that hold on every device.
struct AdaptiveSettings {
  float epsilon = 0;                // the default of solver.epsilon
  std::vector<std::string> states;  // names of the FP32 pools of the state, one or two
};

inline AdaptiveSettings SettingsOf(AdaptiveRule rule) {
  switch (rule) {
    case AdaptiveRule::kAdam:
    case AdaptiveRule::kAdamW:
      return {1e-8f, {"mean", "variance"}};
    case AdaptiveRule::kAdaGrad:
    case AdaptiveRule::kRmsProp:
      return {1e-8f, {"squares"}};
    case AdaptiveRule::kAdaDelta:
      return {1e-6f, {"squares", "steps"}};
  }
  return {};
}

}  // namespace gf

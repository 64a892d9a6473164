#pragma once

#include <optional>
#include <vector>

#include "core/config/job.pb.h"
#include "models/parameter_store.h"

namespace gf {

// How a solver treats one parameter.
struct ParameterRule {
  float lr_mult = 1;
  float decay_mult = 1;
  // Whether LARS, LARC and LAMB compute a separate learning rate for it, and Muon may take it as a
  // matrix.
  bool adaptive = true;
  // The epochs of training that update it (UpdatedParameters); nothing: all.
  std::optional<double> until_epoch;
};

// The rules of all entries: first the multipliers of the net, then plain_bias_and_norm, then
// config.rule() in order. Throws UserError for a rule that matches no parameter.
std::vector<ParameterRule> RulesOf(const SolverConfig& config, const ParameterStore& store);

}  // namespace gf

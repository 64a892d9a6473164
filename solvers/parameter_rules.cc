#include "solvers/parameter_rules.h"

#include <fnmatch.h>

#include "core/error.h"

namespace gf {

std::vector<ParameterRule> RulesOf(const SolverConfig& config, const PoolLayout& layout) {
  std::vector<ParameterRule> rules;
  for (const PoolEntry& entry : layout.entries()) {
    ParameterRule rule{entry.lr_mult, entry.decay_mult, true};
    // Biases, and scale and shift of normalisations, have one axis; weights have more.
    if (config.plain_bias_and_norm() && entry.shape.rank() <= 1) {
      rule.decay_mult = 0;
      rule.adaptive = false;
    }
    rules.push_back(rule);
  }
  for (int i = 0; i < config.rule_size(); ++i) {
    const ParameterRuleConfig& change = config.rule(i);
    bool fits = false;
    for (size_t k = 0; k < rules.size(); ++k) {
      if (fnmatch(change.pattern().c_str(), layout.entries()[k].name.c_str(), 0) != 0) continue;
      fits = true;
      if (change.has_lr_mult()) rules[k].lr_mult = change.lr_mult();
      if (change.has_decay_mult()) rules[k].decay_mult = change.decay_mult();
      if (change.has_adaptive()) rules[k].adaptive = change.adaptive();
    }
    if (!fits && !rules.empty()) {
      ThrowUserError("solver.rule[", i, "].pattern: \"", change.pattern(),
                     "\" fits none of the net's ", rules.size(), " parameters (\"",
                     layout.entries().back().name, "\" is one); * stands for any characters");
    }
  }
  return rules;
}

}  // namespace gf

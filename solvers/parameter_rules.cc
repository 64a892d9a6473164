#include "solvers/parameter_rules.h"

#include "core/config/name_pattern.h"
#include "core/error.h"

namespace gf {

std::vector<ParameterRule> RulesOf(const SolverConfig& config, const ParameterStore& store) {
  const PoolLayout& layout = store.layout();
  std::vector<ParameterRule> rules;
  for (const PoolEntry& entry : layout.entries()) {
    ParameterRule rule{entry.lr_mult, entry.decay_mult, true, {}};
    // Biases, and scale and shift of normalization layers, have one axis; weights have more.
    if (config.plain_bias_and_norm() && entry.shape.rank() <= 1) {
      rule.decay_mult = 0;
      rule.adaptive = false;
    }
    rules.push_back(rule);
  }
  for (int i = 0; i < config.rule_size(); ++i) {
    const ParameterRuleConfig& change = config.rule(i);
    CheckPattern(StrCat("solver.rule[", i, "].pattern"), change.pattern(),
                 {&layout, &store.frozen_layout()});
    for (size_t k = 0; k < rules.size(); ++k) {
      if (!NameFits(change.pattern(), layout.entries()[k].name)) continue;
      if (change.has_lr_mult()) rules[k].lr_mult = change.lr_mult();
      if (change.has_decay_mult()) rules[k].decay_mult = change.decay_mult();
      if (change.has_adaptive()) rules[k].adaptive = change.adaptive();
      if (change.has_until_epoch()) rules[k].until_epoch = change.until_epoch();
    }
  }
  return rules;
}

}  // namespace gf

#include "solvers/lr_policy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace gf {

int64_t StepsOfEpochs(double epochs, double steps_per_epoch) {
  return static_cast<int64_t>(std::ceil(epochs * steps_per_epoch * (1 - 1e-12)));
}

LearningRate::LearningRate(const SolverConfig& config, double steps_per_epoch) : config_(config) {
  max_steps_ = config.has_max_steps() ? config.max_steps()
                                      : StepsOfEpochs(config.max_epochs(), steps_per_epoch);
  warmup_steps_ = config.warmup_epochs() > 0
                      ? StepsOfEpochs(config.warmup_epochs(), steps_per_epoch)
                      : config.warmup_steps();
  if (warmup_steps_ > 0 && warmup_steps_ >= max_steps_) {
    ThrowUserError("solver.warmup_steps: a warm-up of ", warmup_steps_,
                   " steps does not fit into a training of ", max_steps_,
                   ": shorten it, or set solver.warmup_steps and solver.warmup_epochs to 0");
  }
}

double LearningRate::Policy(int64_t step) const {
  const double base = config_.base_lr(), gamma = config_.gamma(), power = config_.power();
  const double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(max_steps_));
  switch (config_.lr_policy()) {
    case SolverConfig::FIXED:
      break;
    case SolverConfig::STEP:
      return base * std::pow(gamma, static_cast<double>(step / config_.step_size()));
    case SolverConfig::MULTISTEP: {
      const auto& values = config_.step_value();
      const auto passed = std::upper_bound(values.begin(), values.end(), step) - values.begin();
      return base * std::pow(gamma, static_cast<double>(passed));
    }
    case SolverConfig::POLY:
      return base * std::pow(1 - done, power);
    case SolverConfig::COSINE:
      return base * (1 + std::cos(3.14159265358979323846 * done)) / 2;
    case SolverConfig::EXP:
      return base * std::pow(gamma, static_cast<double>(step));
    case SolverConfig::INV:
      return base * std::pow(1 + gamma * static_cast<double>(step), -power);
  }
  return base;
}

double LearningRate::At(int64_t step) const {
  if (step >= warmup_steps_) return Policy(step);
  const double start = config_.warmup_lr();
  return start + (Policy(warmup_steps_) - start) * static_cast<double>(step) /
                     static_cast<double>(warmup_steps_);
}

}  // namespace gf

#include "solvers/lr_policy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace gf {

int64_t StepsOfEpochs(double epochs, double steps_per_epoch) {
  return static_cast<int64_t>(std::ceil(epochs * steps_per_epoch * (1 - 1e-12)));
}

LearningRate::LearningRate(const SolverConfig& config, double steps_per_epoch,
                           int64_t images_per_step)
    : config_(config) {
  constexpr double kImagesOfRate = 256;
  base_ = config.has_base_lr_per_256()
              ? config.base_lr_per_256() * static_cast<double>(images_per_step) / kImagesOfRate
              : config.base_lr();
  step_size_ = config.has_step_epochs() ? StepsOfEpochs(config.step_epochs(), steps_per_epoch)
                                        : config.step_size();
  step_values_.assign(config.step_value().begin(), config.step_value().end());
  for (double epoch : config.epoch_value()) {
    step_values_.push_back(StepsOfEpochs(epoch, steps_per_epoch));
  }
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
  const double base = base_, gamma = config_.gamma(), power = config_.power();
  const double end = config_.end_lr();
  const int64_t first = config_.decay_after_warmup() ? warmup_steps_ : 0;
  const double done =
      std::min(1.0, static_cast<double>(step - first) / static_cast<double>(max_steps_ - first));
  switch (config_.lr_policy()) {
    case SolverConfig::FIXED:
      break;
    case SolverConfig::STEP:
      return base * std::pow(gamma, static_cast<double>(step / step_size_));
    case SolverConfig::MULTISTEP: {
      const auto passed =
          std::upper_bound(step_values_.begin(), step_values_.end(), step) - step_values_.begin();
      return base * std::pow(gamma, static_cast<double>(passed));
    }
    case SolverConfig::POLY:
      return end + (base - end) * std::pow(1 - done, power);
    case SolverConfig::COSINE:
      return end + (base - end) * (1 + std::cos(3.14159265358979323846 * done)) / 2;
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
  const double t = static_cast<double>(step) / static_cast<double>(warmup_steps_);
  const double risen = config_.warmup_shape() == SolverConfig::QUADRATIC ? t * t : t;
  return start + (Policy(warmup_steps_) - start) * risen;
}

}  // namespace gf

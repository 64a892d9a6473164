#include "solvers/lr_policy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace gf {

LearningRate::LearningRate(const SolverConfig& config, const BatchSchedule& batches)
    : config_(config), batches_(batches) {
  step_values_.assign(config.step_value().begin(), config.step_value().end());
  for (double epoch : config.epoch_value()) step_values_.push_back(batches.StepsOf(epoch));
  max_steps_ = config.has_max_steps() ? config.max_steps() : batches.StepsOf(config.max_epochs());
  warmup_steps_ =
      config.warmup_epochs() > 0 ? batches.StepsOf(config.warmup_epochs()) : config.warmup_steps();
  constexpr double kMostImages = 1e15;
  const double images = batches.ImagesIn(max_steps_);
  if (!(images <= kMostImages)) {
    ThrowUserError("solver.", config.has_max_steps() ? "max_steps" : "max_epochs", ": training of ",
                   max_steps_, " steps takes ", images, " images, must be at most ", kMostImages,
                   ": shorten it");
  }
  if (warmup_steps_ > 0 && warmup_steps_ >= max_steps_) {
    ThrowUserError("solver.warmup_steps: a warm-up of ", warmup_steps_,
                   " steps does not fit into training of ", max_steps_,
                   " steps: shorten it, or set solver.warmup_steps and solver.warmup_epochs to 0");
  }
}

double LearningRate::Done(int64_t step) const {
  const int64_t first = config_.decay_after_warmup() ? batches_.ImagesBefore(warmup_steps_) : 0;
  const auto all = static_cast<double>(batches_.ImagesBefore(max_steps_) - first);
  return std::min(1.0, static_cast<double>(batches_.ImagesBefore(step) - first) / all);
}

double LearningRate::Falls(int64_t step) const {
  if (!config_.has_step_epochs()) return static_cast<double>(step / config_.step_size());
  return std::floor(batches_.EpochsBefore(step) / config_.step_epochs() * (1 + 1e-12));
}

double LearningRate::Base(int64_t step) const {
  constexpr double kImagesOfRate = 256;
  if (!config_.has_base_lr_per_256()) return config_.base_lr();
  return config_.base_lr_per_256() * static_cast<double>(batches_.ImagesOf(step)) / kImagesOfRate;
}

double LearningRate::Policy(int64_t step) const {
  const double base = Base(step);
  const double gamma = config_.gamma(), power = config_.power();
  const double end = config_.end_lr(), done = Done(step);
  switch (config_.lr_policy()) {
    case SolverConfig::FIXED:
      break;
    case SolverConfig::STEP:
      return base * std::pow(gamma, Falls(step));
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
    case SolverConfig::SIGMOID:
      return base / (1 + std::exp(-gamma * static_cast<double>(step - config_.step_size())));
  }
  return base;
}

double LearningRate::At(int64_t step) const {
  if (step >= warmup_steps_) return Policy(step);
  const double start = config_.warmup_lr();
  const double t = static_cast<double>(step) / static_cast<double>(warmup_steps_);
  const double risen = config_.warmup_shape() == SolverConfig::QUADRATIC ? t * t : t;
  const double top = config_.warmup_to_base_lr() ? Base(warmup_steps_) : Policy(warmup_steps_);
  return start + (top - start) * risen;
}

}  // namespace gf

#include "solvers/train/due_events.h"

#include <cmath>
#include <utility>

namespace gf {
namespace {

// Whether a multiple of `interval` lies in (before, now]; forgives rounding.
bool Passes(int64_t before, int64_t now, double interval) {
  constexpr double kForgive = 1 + 1e-12;
  if (!(interval > 0)) return false;
  const auto multiples = [&](int64_t value) {
    return std::floor(static_cast<double>(value) * kForgive / interval);
  };
  return multiples(now) > multiples(before);
}

// Images between two validations; 0: they are counted by steps.
double ValidationImages(const JobConfig& config, int64_t samples) {
  if (config.validation_interval_steps() > 0) return 0;
  return config.validation_interval_epochs() * static_cast<double>(samples);
}

}  // namespace

DueEvents::DueEvents(const JobConfig& config, int64_t samples)
    : save_steps_(config.checkpoint().interval_steps()),
      validation_steps_(config.validation_interval_steps()),
      save_images_(config.checkpoint().interval_epochs() * static_cast<double>(samples)),
      validation_images_(ValidationImages(config, samples)) {}

void DueEvents::StepDone(int64_t step, int64_t images, int64_t position) {
  const int64_t before = position - images;
  save_ = save_ || Passes(before, position, save_images_) ||
          Passes(step - 1, step, static_cast<double>(save_steps_));
  validation_ = validation_ || Passes(before, position, validation_images_) ||
                Passes(step - 1, step, static_cast<double>(validation_steps_));
}

bool DueEvents::TakeSave() { return std::exchange(save_, false); }

bool DueEvents::TakeValidation() { return std::exchange(validation_, false); }

}  // namespace gf

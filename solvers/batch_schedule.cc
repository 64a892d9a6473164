#include "solvers/batch_schedule.h"

#include <algorithm>
#include <cmath>

namespace gf {

BatchSchedule::BatchSchedule(const SolverConfig& config, int64_t images, int64_t images_per_batch)
    : images_(images), images_per_batch_(images_per_batch) {
  phases_ = {{0, 0, config.iter_size()}};
  for (const BatchPhase& change : config.batch_phase()) {
    Phase phase;
    phase.first_step = StepsOf(change.epoch());
    phase.batches_before = BatchesBefore(phase.first_step);
    phase.iter_size = change.iter_size();
    // Among phases that begin at the same step, only the last one has steps.
    if (phases_.back().first_step == phase.first_step) phases_.pop_back();
    phases_.push_back(phase);
  }
}

const BatchSchedule::Phase& BatchSchedule::PhaseOf(int64_t step) const {
  size_t i = phases_.size() - 1;
  while (i > 0 && phases_[i].first_step > step) --i;
  return phases_[i];
}

int64_t BatchSchedule::BatchesBefore(int64_t step) const {
  const Phase& phase = PhaseOf(step);
  return phase.batches_before + (step - phase.first_step) * phase.iter_size;
}

double BatchSchedule::ImagesIn(int64_t steps) const {
  const Phase& phase = PhaseOf(steps);
  const double batches = static_cast<double>(phase.batches_before) +
                         static_cast<double>(steps - phase.first_step) * phase.iter_size;
  return batches * static_cast<double>(images_per_batch_);
}

int64_t BatchSchedule::StepsOf(double epochs) const {
  const double images = static_cast<double>(images_) * epochs;
  size_t i = phases_.size() - 1;
  const auto before = [&](const Phase& phase) {
    return static_cast<double>(phase.batches_before * images_per_batch_);
  };
  while (i > 0 && before(phases_[i]) >= images) --i;
  const double steps =
      (images - before(phases_[i])) / static_cast<double>(phases_[i].iter_size * images_per_batch_);
  return phases_[i].first_step + static_cast<int64_t>(std::ceil(steps * (1 - 1e-12)));
}

int BatchSchedule::largest_iter_size() const {
  int largest = 0;
  for (const Phase& phase : phases_) largest = std::max(largest, phase.iter_size);
  return largest;
}

std::vector<int64_t> BatchSchedule::FirstSteps() const {
  std::vector<int64_t> steps;
  for (const Phase& phase : phases_) steps.push_back(phase.first_step);
  return steps;
}

}  // namespace gf

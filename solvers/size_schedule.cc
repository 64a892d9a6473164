#include "solvers/size_schedule.h"

#include "core/config/job_checks.h"

namespace gf {

SizeSchedule::SizeSchedule(const DataConfig& config, const BatchSchedule& batches) {
  phases_.push_back({0, config});
  for (int i = 0; i < config.size_phase_size(); ++i) {
    const int64_t first_step = batches.StepsOf(config.size_phase(i).epoch());
    // Among phases that begin at the same step, only the last one has steps.
    if (phases_.back().first_step == first_step) phases_.pop_back();
    phases_.push_back({first_step, DataOfPhase(config, i)});
  }
}

const SizeSchedule::Phase& SizeSchedule::PhaseOf(int64_t step) const {
  size_t i = phases_.size() - 1;
  while (i > 0 && phases_[i].first_step > step) --i;
  return phases_[i];
}

std::vector<int64_t> SizeSchedule::FirstSteps() const {
  std::vector<int64_t> steps;
  for (const Phase& phase : phases_) steps.push_back(phase.first_step);
  return steps;
}

std::vector<DataConfig> SizeSchedule::AllData() const {
  std::vector<DataConfig> all;
  for (const Phase& phase : phases_) all.push_back(phase.data);
  return all;
}

}  // namespace gf

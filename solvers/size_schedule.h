#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "solvers/batch_schedule.h"

namespace gf {

// The size of the images in each step of training: crop_size, changed by size_phase.
class SizeSchedule {
 public:
  // `config` must have been checked by ReadJobConfig.
  SizeSchedule(const DataConfig& config, const BatchSchedule& batches);

  // The first step of the phase of this step, 0 <= step.
  int64_t FirstStepOf(int64_t step) const { return PhaseOf(step).first_step; }
  // The data set as this step reads it.
  const DataConfig& DataOf(int64_t step) const { return PhaseOf(step).data; }
  // The first steps of the phases, ascending from 0.
  std::vector<int64_t> FirstSteps() const;
  // The data set in each phase that has steps, the first one from step 0 on.
  std::vector<DataConfig> AllData() const;

 private:
  struct Phase {
    int64_t first_step;
    DataConfig data;
  };

  const Phase& PhaseOf(int64_t step) const;

  std::vector<Phase> phases_;  // ascending; the first begins at step 0
};

}  // namespace gf

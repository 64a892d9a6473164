#pragma once

#include <cstdint>

#include "core/config/job.pb.h"
#include "core/dtype.h"

namespace gf {

// Which steps of a job with comm.mode PERIODIC exchange what; a pure function of the config and the
// length of training. Steps count from 0.
//
// The first config.warmup_fraction of all steps exchange gradients. The others are rounds of
// config.steps steps, in which each rank trains on its own gradients. Weights are made the same on
// all ranks after the last step of a round; the last round may be shorter.
class RoundSchedule {
 public:
  RoundSchedule(const PeriodicConfig& config, int64_t total_steps);

  int64_t warmup_steps() const { return warmup_steps_; }
  // Rounds of all training.
  int64_t rounds() const { return rounds_; }
  // Whether a step uses the gradients of its own rank only.
  bool local(int64_t step) const { return step >= warmup_steps_; }
  // Whether the ranks have the same weights after a step.
  bool ends(int64_t step) const;
  // The smallest number of steps, not less than `steps`, after which the ranks have the same
  // weights. At most the length of training.
  int64_t CompleteSteps(int64_t steps) const;

 private:
  int64_t round_steps_, total_steps_, warmup_steps_, rounds_;
};

// How the differences of a job travel: the settings of a job that would exchange them as gradients.
// `wire`: the wire type of gradients. FP16 has too short a range for differences; BF16 replaces it.
CommConfig ExchangeOfDifferences(const CommConfig& config, DType wire);

}  // namespace gf

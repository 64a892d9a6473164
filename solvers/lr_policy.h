#pragma once

#include <cstdint>

#include "core/job.pb.h"

namespace gf {

// The learning rate as a function of the step (Caffe's policies, and cosine), with warm-up.
class LearningRate {
 public:
  // `config` as ReadJobConfig checked it. `steps_per_epoch`: steps that one pass over the
  // training data takes on all ranks; may be fractional. Throws UserError if the warm-up is
  // not shorter than training.
  LearningRate(const SolverConfig& config, double steps_per_epoch);

  // The rate of a step, 0 <= step. During warm-up it rises linearly from warmup_lr at step 0
  // to the policy's rate at warmup_steps().
  double At(int64_t step) const;

  // Length of training: solver.max_steps, or the steps of solver.max_epochs.
  int64_t max_steps() const { return max_steps_; }
  int64_t warmup_steps() const { return warmup_steps_; }

 private:
  double Policy(int64_t step) const;

  SolverConfig config_;
  int64_t max_steps_ = 0;
  int64_t warmup_steps_ = 0;
};

// Steps of so many epochs, at least; forgives rounding of the product.
int64_t StepsOfEpochs(double epochs, double steps_per_epoch);

}  // namespace gf

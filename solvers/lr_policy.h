#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "solvers/batch_schedule.h"

namespace gf {

// The learning rate as a function of the step, with warm-up: Caffe's policies, cosine, and the
// linear scaling rule (Goyal et al., "Accurate, Large Minibatch SGD", arXiv 1706.02677).
class LearningRate {
 public:
  // `config` must have been checked by ReadJobConfig. Throws UserError if the warm-up is not
  // shorter than training.
  LearningRate(const SolverConfig& config, const BatchSchedule& batches);

  // The rate of a step, 0 <= step. During the warm-up it rises from warmup_lr at step 0 to the
  // policy's rate at warmup_steps(), or to the base rate with warmup_to_base_lr.
  double At(int64_t step) const;

  // Length of training: solver.max_steps, or the steps of solver.max_epochs.
  int64_t max_steps() const { return max_steps_; }
  int64_t warmup_steps() const { return warmup_steps_; }

 private:
  // base_lr, or base_lr_per_256 for the images of this step.
  double Base(int64_t step) const;
  double Policy(int64_t step) const;
  // Completed fraction of the decay, counted in images: 0 to 1.
  double Done(int64_t step) const;
  // STEP: number of decays before this step.
  double Falls(int64_t step) const;

  SolverConfig config_;
  BatchSchedule batches_;
  std::vector<int64_t> step_values_;  // MULTISTEP
  int64_t max_steps_ = 0;
  int64_t warmup_steps_ = 0;
};

}  // namespace gf

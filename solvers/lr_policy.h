#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "solvers/batch_schedule.h"

namespace gf {

// The learning rate as a function of the step (Caffe's policies, and cosine), with warm-up.
// Accurate, Large Minibatch SGD (Goyal et al., arXiv 1706.02677) gives the linear rule.
class LearningRate {
 public:
  // `config` as ReadJobConfig checked it. Throws UserError if the warm-up is not shorter than
  // training.
  LearningRate(const SolverConfig& config, const BatchSchedule& batches);

  // The rate of a step, 0 <= step. During warm-up it rises from warmup_lr at step 0 to the policy's
  // rate at warmup_steps().
  double At(int64_t step) const;

  // Length of training: solver.max_steps, or the steps of solver.max_epochs.
  int64_t max_steps() const { return max_steps_; }
  int64_t warmup_steps() const { return warmup_steps_; }

 private:
  double Policy(int64_t step) const;
  // How much of the decay is done, 0 to 1, counted in images.
  double Done(int64_t step) const;
  // STEP: how many times the rate has fallen.
  double Falls(int64_t step) const;

  SolverConfig config_;
  BatchSchedule batches_;
  std::vector<int64_t> step_values_;  // MULTISTEP
  int64_t max_steps_ = 0;
  int64_t warmup_steps_ = 0;
};

}  // namespace gf

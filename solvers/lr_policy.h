#pragma once

#include <cstdint>
#include <vector>

#include "core/job.pb.h"

namespace gf {

// The learning rate as a function of the step (Caffe's policies, and cosine), with warm-up.
// Accurate, Large Minibatch SGD (Goyal et al., arXiv 1706.02677) gives the linear rule.
class LearningRate {
 public:
  // `config` as ReadJobConfig checked it. `steps_per_epoch`: steps that one pass over the
  // training data takes on all ranks; may be fractional. `images_per_step`: of all ranks. Throws
  // UserError if the warm-up is not shorter than training.
  LearningRate(const SolverConfig& config, double steps_per_epoch, int64_t images_per_step);

  // The rate of a step, 0 <= step. During warm-up it rises from warmup_lr at step 0 to the policy's
  // rate at warmup_steps().
  double At(int64_t step) const;

  // Length of training: solver.max_steps, or the steps of solver.max_epochs.
  int64_t max_steps() const { return max_steps_; }
  int64_t warmup_steps() const { return warmup_steps_; }

 private:
  double Policy(int64_t step) const;

  SolverConfig config_;
  double base_ = 0;
  int64_t step_size_ = 0;             // STEP
  std::vector<int64_t> step_values_;  // MULTISTEP
  int64_t max_steps_ = 0;
  int64_t warmup_steps_ = 0;
};

// Steps of so many epochs, at least; forgives rounding of the product.
int64_t StepsOfEpochs(double epochs, double steps_per_epoch);

}  // namespace gf

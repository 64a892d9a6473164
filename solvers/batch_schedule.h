#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// Number of images in each step of training: solver.iter_size batches on every rank, changed by
// solver.batch_phase (batch-size control, Mikami et al., arXiv 1811.05233).
class BatchSchedule {
 public:
  // `config` must have been checked by ReadJobConfig. `images`: number of training images;
  // `images_per_batch`: images of one batch on all ranks together.
  BatchSchedule(const SolverConfig& config, int64_t images, int64_t images_per_batch);

  // Number of batches per rank in this step, 0 <= step.
  int IterSize(int64_t step) const { return PhaseOf(step).iter_size; }
  // Number of batches per rank before this step.
  int64_t BatchesBefore(int64_t step) const;
  int64_t ImagesOf(int64_t step) const { return PhaseOf(step).iter_size * images_per_batch_; }
  int64_t ImagesBefore(int64_t step) const { return BatchesBefore(step) * images_per_batch_; }
  // The same number without overflow, for any length of training.
  double ImagesIn(int64_t steps) const;
  // Number of passes over the data before this step.
  double EpochsBefore(int64_t step) const { return ImagesIn(step) / static_cast<double>(images_); }
  // The least number of steps that cover `epochs` epochs; tolerates rounding of the product.
  int64_t StepsOf(double epochs) const;

  int64_t images() const { return images_; }
  // Whether all steps take the same number of images.
  bool constant() const { return phases_.size() == 1; }
  int largest_iter_size() const;
  // The first steps of phases of one number of batches, ascending from 0.
  std::vector<int64_t> FirstSteps() const;

 private:
  struct Phase {
    int64_t first_step = 0;
    int64_t batches_before = 0;
    int iter_size = 1;
  };

  const Phase& PhaseOf(int64_t step) const;

  int64_t images_, images_per_batch_;
  std::vector<Phase> phases_;  // ascending; the first begins at step 0
};

}  // namespace gf

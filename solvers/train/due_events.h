#pragma once

#include <cstdint>

#include "core/config/job.pb.h"

namespace gf {

// Which of the events of a job, checkpoints and validations, are due. An event waits until it is
// taken: PERIODIC takes none within a round.
class DueEvents {
 public:
  // `samples`: training images of an epoch.
  DueEvents(const JobConfig& config, int64_t samples);

  // After every step: its number, from 1, its images, and the images of training so far, with them.
  void StepDone(int64_t step, int64_t images, int64_t position);

  bool save() const { return save_; }
  bool validation() const { return validation_; }

  // Returns whether the event is due, and clears it.
  bool TakeSave();
  bool TakeValidation();

 private:
  const int64_t save_steps_, validation_steps_;   // 0: never
  const double save_images_, validation_images_;  // 0: never
  bool save_ = false, validation_ = false;
};

}  // namespace gf

#pragma once

#include <chrono>
#include <cstdint>

#include "solvers/report/report.h"

namespace gf {

// Gathers what a line of progress says over the steps of an interval.
class Meter {
 public:
  // `images` of all ranks; `loss` is the mean over them.
  void Step(int64_t images, double loss, double data_wait_s, double comm_s);
  int64_t steps() const { return steps_; }

  // Time spent on other things than steps (validation, checkpoints) does not count.
  void Pause();
  void Resume();

  // Fills in loss, rates and ETA and starts the next interval.
  void Close(TrainRecord* record);

 private:
  using Clock = std::chrono::steady_clock;

  void Restart();

  int64_t steps_ = 0, images_ = 0;
  double loss_ = 0, data_wait_s_ = 0, comm_s_ = 0, running_s_ = 0;
  double step_s_ = 0;  // smoothed time of a step, for the ETA
  Clock::time_point since_ = Clock::now();
};

}  // namespace gf

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// The times of the first steps of a job, in seconds; the same on all ranks.
struct StepFacts {
  // From the beginning of the exchange (GradientFlow::BeginStep) in steps without overlap: when
  // each entry of the pool is ready, and the end of backward. Of the slowest rank.
  std::vector<double> ready;
  double end = 0;
  // The end of backward where collectives run beside it.
  double end_beside = 0;
  // The update of all parameters as their sums arrive; 0 if all ranks wait with it.
  double update = 0;
  // Some rank updates only when all sums have come.
  bool update_waits = false;
  // The rest of a step: data and forward; the updates, too, if all ranks wait with them.
  double outside = 0;
  // In which allreduces ran in a step without overlap.
  double transfer = 0;
  // A whole step with overlap, of the slowest rank.
  double step = 0;
};

// Notes the times of steps on this rank.
//
// Note [Noted steps]
// The first step counts for nothing (everything is cold). In the next one gradients travel
// during backward; in the last ones nothing travels before backward ends, which shows compute and
// collectives undisturbed by each other. Of several times the shortest counts: whatever disturbs a
// step makes it longer.
class StepNotes {
 public:
  static constexpr int kSteps = 4;

  explicit StepNotes(int entries) : entries_(entries) {}

  // Whether this step sends nothing before its end.
  bool withholds() const { return step_ >= 2; }
  // Whether all steps were noted.
  bool complete() const { return step_ >= kSteps; }

  // In every step: its beginning; that the first `ready` entries are ready, as often as that
  // changes; the end of backward; one update; its end, with the seconds in which allreduces ran.
  void Begin();
  void Ready(int ready);
  void BackwardEnded();
  void Updated(double seconds) { update_ += seconds; }
  void End(double transfer);

  // The facts, after the last step; collective. Called when the next step begins.
  StepFacts Agree(Communicator* comm) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Times {
    std::vector<double> ready;
    double end = 0, update = 0, transfer = 0;
    double finish = 0;  // from the end of backward to the end of the step
  };

  double SinceBegin() const;

  const int entries_;
  int step_ = 0;  // how many have ended
  Clock::time_point begin_, end_;
  double update_ = 0;
  Times now_;
  std::vector<Times> noted_;
  double outside_ = -1;  // the shortest time between two steps; -1: none yet
};

}  // namespace gf

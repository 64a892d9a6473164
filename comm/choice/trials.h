#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "comm/choice/step_notes.h"
#include "comm/communicator.h"
#include "comm/flow/exchange_choice.h"

namespace gf {

// A rung with thresholds that whole steps try.
struct Trial {
  int rung = 0, power = 0;
  double seconds = 0;  // of its shortest step; 0: not measured
  double scatter = 0;  // seconds by which its second shortest step exceeds this one
  bool noted = false;  // these were the noted steps
};

// Steps of each trial. The first one counts for nothing: the flow is new.
//
// Note [Trials]
// A price leaves out what only whole steps show, above all the time that collectives take from
// compute where both use the same processors. So whole steps try up to three rungs: the best by
// price, the one with the shortest priced step, and the one with the shortest of the others, if
// that is at most twice as long. The first two are also tried with the default thresholds. Nothing
// is tried if there is one candidate only, or if the best is the rung of the noted steps and these
// were at most `slower` longer than the shortest price. The noted steps are a trial of their rung,
// too.
constexpr int kTrialSteps = 4;
constexpr int kMostTrials = 5;
// Of a job of mode AUTO, until it has chosen.
constexpr int kMostStepsToChoose = StepNotes::kSteps + kMostTrials * kTrialSteps;

// What to try after ChooseRung, from mild to strong. Empty: nothing; the rung is taken as it is.
std::vector<Trial> TrialsOf(const ExchangeChoice& choice);

// Takes the mildest rung whose step is at most `slower` longer than the shortest one, with the
// thresholds of the rung's shorter trial, and writes the times and verdicts. A rung milder than the
// best by price exposes more, so it must be faster than the best. All trials were measured.
//
// So that a stronger rung does not win by noise, the limit also grows by the trials' scatter: the
// median of `scatter / seconds`. It is that large where trials tell little; the price then decides.
void ChooseTried(const std::vector<Trial>& trials, ExchangeChoice* choice);

// The trials of all ranks: rank 0's. Collective.
std::vector<Trial> AgreeOnTrials(const std::vector<Trial>& own, Communicator* comm);

// Notes the times of trials on this rank.
class TrialSteps {
 public:
  explicit TrialSteps(const std::vector<Trial>& trials) : trials_(trials) {}

  // At the start of each step, and of the step after the last trial. Returns whether this step is
  // the first of a trial, or the one after the last trial.
  bool Begin();
  bool complete() const { return current_ == static_cast<int>(trials_.size()); }
  // The trial of this step.
  const Trial& current() const { return trials_[current_]; }

  // The trials with the times of the slowest rank; collective, once complete.
  std::vector<Trial> Agree(Communicator* comm) const;

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<Trial> trials_;
  int current_ = -1;
  int steps_ = 0;              // of the current trial that have begun
  std::vector<double> times_;  // of these, ascending, without the first
  Clock::time_point begin_;
};

}  // namespace gf

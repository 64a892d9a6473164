#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "comm/choice/step_notes.h"
#include "comm/communicator.h"
#include "comm/flow/exchange_choice.h"
#include "core/median.h"

namespace gf {

// A rung with thresholds that whole steps try.
struct Trial {
  int rung = 0, power = 0;
  std::vector<double> seconds = {};  // of each step that counts, the mean of all ranks

  // Seconds of a step: the median. At least one was measured.
  double step() const { return Median(seconds); }
};

// Note [Trials]
// A price leaves out what only whole steps show, above all the time that collectives take from
// compute where both use the same processors. So whole steps try up to four rungs: the best by
// price; the one with the shortest priced step; the one with the shortest of the others, and the
// rung of the noted steps, if they take at most twice as long. The first two are also tried with
// the default thresholds. Nothing is tried if there is one candidate only, or if the best is the
// rung of the noted steps and these were at most `slower` longer than the shortest price.
//
// Steps of one rung differ from each other, and a machine drifts. So the trials take turns of
// kTrialSteps steps each, the first of which counts for nothing, as the flow is new. They take
// another turn while the choice depends on their scatter. Trials that are too slow to matter sit
// out.
constexpr int kTrialSteps = 4;
constexpr int kMostTrials = 6;
constexpr int kMostTurns = 3;
// Of a job of mode AUTO, until it has chosen.
constexpr int kMostStepsToChoose = StepNotes::kSteps + kMostTrials * kMostTurns * kTrialSteps;

// What to try after ChooseRung, from mild to strong. Empty: nothing; the rung is taken as it is.
std::vector<Trial> TrialsOf(const ExchangeChoice& choice);

// The trials, all measured, that have to take another turn. Empty: ChooseTried can choose.
std::vector<int> TrialsToRepeat(const std::vector<Trial>& trials, const ExchangeChoice& choice);

// Takes the mildest rung whose step is at most `slower` longer than the shortest one, with the
// thresholds of the rung's shorter trial, and writes the times and verdicts. A rung milder than the
// best by price exposes more, so it must be faster than the best. All trials were measured.
//
// A stronger rung must not win by noise: where the scatter is larger than `slower`, it is the
// limit. A trial's scatter is the relative standard error of the difference of two such trials. The
// median over the trials with the most steps counts.
void ChooseTried(const std::vector<Trial>& trials, ExchangeChoice* choice);

// The trials of all ranks: rank 0's. Collective.
std::vector<Trial> AgreeOnTrials(const std::vector<Trial>& own, Communicator* comm);

// Lets trials take turns and notes their times.
class TrialSteps {
 public:
  explicit TrialSteps(std::vector<Trial> trials);

  // At the start of each step, and of the step after the last trial. Returns whether the flow must
  // change: to the current trial's, or to the choice's if the trials are complete. Collective after
  // the last trial of a turn.
  bool Begin(const ExchangeChoice& choice, Communicator* comm);
  bool complete() const { return turn_.empty(); }
  // The trial of this step.
  const Trial& current() const { return trials_[turn_[current_]]; }
  const std::vector<Trial>& trials() const { return trials_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Gives the trials of this turn their times.
  void Agree(Communicator* comm);

  std::vector<Trial> trials_;
  std::vector<int> turn_;        // the trials that take this turn
  int current_ = -1;             // of the turn
  int steps_ = 0;                // of the current trial that have begun
  std::vector<double> seconds_;  // of the turn's steps that count
  Clock::time_point begin_;
};

}  // namespace gf

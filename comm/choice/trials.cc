#include "comm/choice/trials.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

// Rungs with steps longer than the shortest price by this factor cannot win.
constexpr double kSlowestRival = 2;
constexpr char kActivity[] = "the trials of comm.mode AUTO";

// The priced rung with the shortest step that is none of `excluded`. Null: there is none.
const PricedRung* FastestBut(const std::vector<const PricedRung*>& excluded,
                             const ExchangeChoice& choice) {
  const PricedRung* fastest = nullptr;
  for (const PricedRung& rung : choice.rungs) {
    if (!rung.priced || std::find(excluded.begin(), excluded.end(), &rung) != excluded.end())
      continue;
    if (fastest == nullptr || rung.step < fastest->step) fastest = &rung;
  }
  return fastest;
}

// The relative standard error of the difference of two medians of such steps, if their noise is
// normal. A few disturbed steps change it little.
double ScatterOf(const Trial& trial) {
  constexpr double kDeviation = 1.4826;  // in terms of the median absolute deviation
  constexpr double kMedian = 1.2533;     // standard error of a median, in terms of a mean's
  CHECK(!trial.seconds.empty()) << "rung " << trial.rung;
  const double step = trial.step();
  std::vector<double> deviations;
  for (const double seconds : trial.seconds) deviations.push_back(std::abs(seconds - step));
  const auto count = static_cast<double>(deviations.size());
  return kDeviation * kMedian * std::sqrt(2 / count) * Median(std::move(deviations)) / step;
}

bool IsMilder(const Trial& a, const Trial& b) { return a.rung < b.rung; }

// The shortest step of a rung's trials, of all trials if `rung` is -1.
double ShortestStep(const std::vector<Trial>& trials, int rung = -1) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials) {
    if (rung < 0 || trial.rung == rung) shortest = std::min(shortest, trial.step());
  }
  return shortest;
}

// The mildest rung whose step is at most `slack` longer than the shortest, relatively. A rung
// milder than `best` must be faster than this one.
int MildestWithin(double slack, const std::vector<Trial>& trials, int best) {
  const double longest = (1 + slack) * ShortestStep(trials);
  for (const Trial& trial : trials) {
    const double step = ShortestStep(trials, trial.rung);
    if (step > longest) continue;
    if (trial.rung >= best || step < ShortestStep(trials, best)) return trial.rung;
  }
  LOG(FATAL) << "no trial is the fastest";
}

// Rank 0's numbers. Collective.
std::vector<int> FromRankZero(const std::vector<int>& own, Communicator* comm) {
  std::string text;
  for (const int number : own) text += StrCat(number, " ");
  comm->Broadcast(&text, 0, kActivity);
  std::istringstream words(text);
  std::vector<int> numbers;
  for (int number; words >> number;) numbers.push_back(number);
  return numbers;
}

std::string Milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f ms", 1e3 * seconds);
  return text;
}

}  // namespace

std::vector<Trial> TrialsOf(const ExchangeChoice& choice) {
  const PricedRung* const chosen = &choice.rungs[choice.chosen];
  const PricedRung* const fastest = FastestBut({}, choice);
  const double enough = (1 + choice.slower) * fastest->step;
  if (chosen->name == choice.noted && chosen->power == 0 && choice.noted_step <= enough) return {};
  std::vector<Trial> trials;
  const auto add = [&](const PricedRung* rung, int power) {
    const auto index = static_cast<int>(rung - choice.rungs.data());
    const auto same = [&](const Trial& t) { return t.rung == index && t.power == power; };
    if (std::none_of(trials.begin(), trials.end(), same)) trials.push_back({index, power});
  };
  for (const PricedRung* rung : {chosen, fastest}) {
    add(rung, rung->power);
    add(rung, 0);
  }
  const double longest = kSlowestRival * fastest->step;
  const PricedRung* const rival = FastestBut({chosen, fastest}, choice);
  if (rival != nullptr && rival->step <= longest) add(rival, rival->power);
  for (const PricedRung& rung : choice.rungs) {
    if (rung.priced && rung.name == choice.noted && choice.noted_step <= longest) add(&rung, 0);
  }
  if (trials.size() == 1) return {};
  CHECK_LE(trials.size(), kMostTrials);
  std::stable_sort(trials.begin(), trials.end(), IsMilder);
  return trials;
}

std::vector<int> TrialsToRepeat(const std::vector<Trial>& trials, const ExchangeChoice& choice) {
  double scatter = 0;
  for (const Trial& trial : trials) scatter = std::max(scatter, ScatterOf(trial));
  if (MildestWithin(std::max(choice.slower - scatter, 0.0), trials, choice.chosen) ==
      MildestWithin(choice.slower + scatter, trials, choice.chosen)) {
    return {};
  }
  const double longest = (1 + choice.slower + 2 * scatter) * ShortestStep(trials);
  std::vector<int> repeated;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].seconds.size() >= kMostTurns * (kTrialSteps - 1)) return {};
    if (trials[i].step() <= longest) repeated.push_back(static_cast<int>(i));
  }
  return repeated;
}

void ChooseTried(const std::vector<Trial>& trials, ExchangeChoice* choice) {
  size_t most = 0;
  for (const Trial& trial : trials) most = std::max(most, trial.seconds.size());
  std::vector<double> scatter;
  for (const Trial& trial : trials) {
    if (trial.seconds.size() == most) scatter.push_back(ScatterOf(trial));
  }
  choice->scatter = Median(std::move(scatter));
  choice->chosen = MildestWithin(std::max(choice->slower, choice->scatter), trials, choice->chosen);
  for (const Trial& trial : trials) {
    PricedRung* const rung = &choice->rungs[trial.rung];
    if (trial.step() > ShortestStep(trials, trial.rung) || rung->tried > 0) continue;
    rung->tried = trial.step();
    rung->verdict = trial.rung == choice->chosen ? "taken: tried, " : "tried, ";
    rung->verdict += Milliseconds(trial.step());
    if (trial.power != rung->power) rung->verdict += " with the default thresholds";
    rung->power = trial.power;
  }
}

std::vector<Trial> AgreeOnTrials(const std::vector<Trial>& own, Communicator* comm) {
  std::vector<int> numbers;
  for (const Trial& trial : own) numbers.insert(numbers.end(), {trial.rung, trial.power});
  numbers = FromRankZero(numbers, comm);
  std::vector<Trial> trials;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) trials.push_back({numbers[i], numbers[i + 1]});
  return trials;
}

TrialSteps::TrialSteps(std::vector<Trial> trials)
    : trials_(std::move(trials)), turn_(trials_.size()) {
  std::iota(turn_.begin(), turn_.end(), 0);
}

bool TrialSteps::Begin(const ExchangeChoice& choice, Communicator* comm) {
  const Clock::time_point now = Clock::now();
  if (steps_ > 1) seconds_.push_back(std::chrono::duration<double>(now - begin_).count());
  begin_ = now;
  const bool next = current_ < 0 || steps_ == kTrialSteps;
  if (next) {
    steps_ = 0;
    if (++current_ == static_cast<int>(turn_.size())) {
      Agree(comm);
      turn_ = FromRankZero(TrialsToRepeat(trials_, choice), comm);
      current_ = 0;
    }
  }
  ++steps_;
  return next;
}

void TrialSteps::Agree(Communicator* comm) {
  comm->AllReduce(seconds_.data(), static_cast<int64_t>(seconds_.size()), ReduceOp::kSum,
                  kActivity);
  for (size_t i = 0; i < seconds_.size(); ++i) {
    trials_[turn_[i / (kTrialSteps - 1)]].seconds.push_back(seconds_[i] / comm->size());
  }
  seconds_.clear();
}

}  // namespace gf

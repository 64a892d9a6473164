#include "comm/choice/trials.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/median.h"

namespace gf {
namespace {

// Rungs with longer steps, as prices have it, cannot win.
constexpr double kSlowestRival = 2;

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

// The median over the trials of how much longer, relatively, the second shortest step is than the
// shortest.
double ScatterOf(const std::vector<Trial>& trials) {
  std::vector<double> scatter;
  for (const Trial& trial : trials) scatter.push_back(trial.scatter / trial.seconds);
  return Median(std::move(scatter));
}

bool IsMilder(const Trial& a, const Trial& b) { return a.rung < b.rung; }

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
  const auto add = [&](const PricedRung* rung, bool defaults) {
    const auto index = static_cast<int>(rung - choice.rungs.data());
    trials.push_back({index, rung->power});
    if (defaults && rung->power != 0) trials.push_back({index, 0});
  };
  add(chosen, true);
  if (fastest != chosen) add(fastest, true);
  const PricedRung* const rival = FastestBut({chosen, fastest}, choice);
  if (rival != nullptr && rival->step <= kSlowestRival * fastest->step) add(rival, false);
  if (trials.size() == 1) return {};
  CHECK_LE(trials.size(), kMostTrials);
  std::stable_sort(trials.begin(), trials.end(), IsMilder);
  return trials;
}

void ChooseTried(const std::vector<Trial>& trials, ExchangeChoice* choice) {
  const int best = choice->chosen;
  for (const Trial& trial : trials) CHECK_GT(trial.seconds, 0) << choice->rungs[trial.rung].name;
  choice->scatter = ScatterOf(trials);
  std::vector<Trial> all = trials;
  std::vector<int> priced;
  for (const PricedRung& rung : choice->rungs) {
    if (rung.priced && rung.name == choice->noted) {
      CHECK_GT(choice->noted_step, 0);
      all.push_back({static_cast<int>(priced.size()), 0, choice->noted_step, 0, true});
    }
    priced.push_back(rung.power);
  }
  std::stable_sort(all.begin(), all.end(), IsMilder);
  double shortest = all.front().seconds;
  for (const Trial& trial : all) {
    PricedRung* const rung = &choice->rungs[trial.rung];
    shortest = std::min(shortest, trial.seconds);
    if (rung->tried > 0 && trial.seconds >= rung->tried) continue;
    rung->tried = trial.seconds;
    rung->power = trial.power;
    rung->verdict = (trial.noted ? "first steps, " : "tried, ") + Milliseconds(trial.seconds);
    if (trial.power != priced[trial.rung]) rung->verdict += " with the default thresholds";
  }
  const auto taken = std::find_if(all.begin(), all.end(), [&](const Trial& trial) {
    const double tried = choice->rungs[trial.rung].tried;
    return tried <= (1 + choice->slower) * (1 + choice->scatter) * shortest &&
           (trial.rung >= best || tried < choice->rungs[best].tried);
  });
  CHECK(taken != all.end());
  choice->chosen = taken->rung;
  std::string* const verdict = &choice->rungs[taken->rung].verdict;
  *verdict = "taken: " + *verdict;
}

std::vector<Trial> AgreeOnTrials(const std::vector<Trial>& own, Communicator* comm) {
  std::string text;
  for (const Trial& trial : own) text += StrCat(trial.rung, " ", trial.power, " ");
  comm->Broadcast(&text, 0, "the trials of comm.mode AUTO");
  std::istringstream words(text);
  std::vector<Trial> trials;
  for (Trial trial; words >> trial.rung >> trial.power;) trials.push_back(trial);
  return trials;
}

bool TrialSteps::Begin() {
  const Clock::time_point now = Clock::now();
  if (steps_ > 1) {
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    times_.insert(std::upper_bound(times_.begin(), times_.end(), seconds), seconds);
    trials_[current_].seconds = times_[0];
    if (times_.size() > 1) trials_[current_].scatter = times_[1] - times_[0];
  }
  begin_ = now;
  const bool next = current_ < 0 || steps_ == kTrialSteps;
  if (next) {
    ++current_;
    steps_ = 0;
    times_.clear();
  }
  ++steps_;
  return next;
}

std::vector<Trial> TrialSteps::Agree(Communicator* comm) const {
  std::vector<double> seconds;
  for (const Trial& trial : trials_) {
    seconds.push_back(trial.seconds);
    seconds.push_back(trial.scatter);
  }
  comm->AllReduce(seconds.data(), static_cast<int64_t>(seconds.size()), ReduceOp::kMax,
                  "the trials of comm.mode AUTO");
  std::vector<Trial> agreed = trials_;
  for (size_t i = 0; i < agreed.size(); ++i) {
    agreed[i].seconds = seconds[2 * i];
    agreed[i].scatter = seconds[2 * i + 1];
  }
  return agreed;
}

}  // namespace gf

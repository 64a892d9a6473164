#include "simulate/rounds.h"

#include <glog/logging.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace gf {
namespace {

int Parts(const PartRange& range) { return range.end - range.begin; }

// A run of equal steps [begin, end) of a rank.
struct Run {
  int64_t begin = 0, end = 0;
  int send_to = -1, sent = 0, receive_from = -1, received = 0;
  bool reduce = false;

  bool Same(const PlanStep& step) const {
    return send_to == step.send_to && receive_from == step.receive_from && reduce == step.reduce &&
           sent == Parts(step.send) && received == Parts(step.receive);
  }
};

std::vector<Run> RunsOf(const Plan& plan) {
  std::vector<Run> runs;
  for (const PlanStep& step : plan.steps) {
    if (runs.empty() || !runs.back().Same(step)) {
      const int64_t begin = runs.empty() ? 0 : runs.back().end;
      runs.push_back({begin, begin, step.send_to, Parts(step.send), step.receive_from,
                      Parts(step.receive), step.reduce});
    }
    ++runs.back().end;
  }
  return runs;
}

using WorldRuns = std::vector<std::vector<Run>>;

// Cuts the steps at the borders of all runs. `ranks` are the first of the world, one period.
// Returns false if a message connects steps with different numbers.
bool Aligned(const WorldRuns& ranks, int world, std::vector<PlanRound>* rounds) {
  const int period = static_cast<int>(ranks.size());
  std::set<int64_t> borders = {0};
  for (const auto& runs : ranks) {
    for (const Run& run : runs) borders.insert(run.end);
  }
  std::vector<size_t> at(ranks.size());
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      while (at[r] < ranks[r].size() && ranks[r][at[r]].end <= *border) ++at[r];
    }
    PlanRound round;
    round.times = *std::next(border) - *border;
    size_t received = 0;
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (at[r] == ranks[r].size()) continue;
      const Run& run = ranks[r][at[r]];
      received += run.receive_from >= 0;
      if (run.send_to < 0) continue;
      // The receiver's plan is that of a rank in the first period.
      const int like = run.send_to % period, shift = run.send_to - like;
      if (at[like] == ranks[like].size()) return false;
      const Run& peer = ranks[like][at[like]];
      const int sender = (static_cast<int>(r) + world - shift) % world;
      if (peer.receive_from != sender || peer.received != run.sent) return false;
      round.messages.push_back({static_cast<int>(r), run.send_to, run.sent, peer.reduce});
    }
    if (received != round.messages.size()) return false;
    rounds->push_back(std::move(round));
  }
  return true;
}

// Follows the plans message by message; each message takes one unit of time.
class Follower {
 public:
  explicit Follower(const WorldRuns& ranks) : ranks_(ranks), states_(ranks.size()) {}

  std::vector<PlanRound> Run() {
    for (size_t r = 0; r < ranks_.size(); ++r) Advance(static_cast<int>(r));
    while (!awake_.empty()) {
      const int rank = awake_.front();
      awake_.pop_front();
      Advance(rank);
    }
    for (size_t r = 0; r < ranks_.size(); ++r) {
      CHECK_EQ(states_[r].run, ranks_[r].size()) << "rank " << r << " waits for ever";
    }
    return std::move(rounds_);
  }

 private:
  struct State {
    size_t run = 0;
    int64_t step = 0, time = 0;
    bool posted = false;
  };

  void Advance(int rank) {
    State& state = states_[rank];
    while (state.run < ranks_[rank].size()) {
      const struct Run& run = ranks_[rank][state.run];
      if (run.send_to >= 0 && !state.posted) {
        mail_[{rank, run.send_to}].push_back({state.time, run.sent});
        awake_.push_back(run.send_to);
      }
      state.posted = true;
      int64_t end = state.time + 1;
      if (run.receive_from >= 0) {
        auto& box = mail_[{run.receive_from, rank}];
        if (box.empty()) return;
        const auto [sent_at, parts] = box.front();
        box.pop_front();
        CHECK_EQ(parts, run.received);
        const int64_t round = std::max(sent_at, state.time);
        if (round >= static_cast<int64_t>(rounds_.size())) rounds_.resize(round + 1);
        rounds_[round].messages.push_back({run.receive_from, rank, parts, run.reduce});
        end = round + 1;
      }
      state.time = end;
      state.posted = false;
      if (++state.step == run.end) ++state.run;
    }
  }

  const WorldRuns& ranks_;
  std::vector<State> states_;
  std::deque<int> awake_;
  std::map<std::pair<int, int>, std::deque<std::pair<int64_t, int>>> mail_;
  std::vector<PlanRound> rounds_;
};

}  // namespace

PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world) {
  return RoundsOf(plan, world, world);
}

PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world, int period) {
  CHECK(period > 0 && world % period == 0) << period << " of " << world;
  PlanRounds result;
  result.period = period;
  WorldRuns ranks;
  for (int rank = 0; rank < period; ++rank) {
    const Plan own = plan(rank);
    result.parts = own.parts;
    ranks.push_back(RunsOf(own));
    for (const Run& run : ranks.back()) {
      result.largest = std::max({result.largest, run.sent, run.received});
    }
  }
  if (!Aligned(ranks, world, &result.rounds)) {
    CHECK_EQ(period, world) << "these plans do not repeat";
    result.rounds = Follower(ranks).Run();
  }
  return result;
}

}  // namespace gf

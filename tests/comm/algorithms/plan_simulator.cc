#include "tests/comm/algorithms/plan_simulator.h"

#include <algorithm>
#include <deque>
#include <map>
#include <sstream>
#include <utility>

#include "core/random.h"

namespace gf {
namespace {

uint64_t Mix(uint64_t kind, uint64_t a, uint64_t b) {
  const auto words = Philox(kind, a, b);
  return (uint64_t{words[0]} << 32) | words[1];
}

PartValue Rounded(PartValue value) {
  if (!value.rounded) value.expression = Mix(2, value.expression, 0);
  value.rounded = true;
  return value;
}

PartValue Sum(const PartValue& a, const PartValue& b) {
  PartValue sum;
  for (size_t r = 0; r < a.contributions.size(); ++r) {
    sum.contributions.push_back(a.contributions[r] + b.contributions[r]);
  }
  sum.expression =
      Mix(3, std::min(a.expression, b.expression), std::max(a.expression, b.expression));
  return sum;
}

struct Envelope {
  PartRange range;
  std::vector<PartValue> values;
  int posted = 0;  // time
};

struct Rank {
  size_t step = 0;
  bool posted = false, sent = false, received = false;
  int time = 0;  // of the last step's end
  int end = 0;   // of the current step, as known so far
  std::vector<PartValue> message;
};

class World {
 public:
  World(const std::vector<Plan>& plans, WorldState state, bool rendezvous)
      : plans_(plans), state_(std::move(state)), rendezvous_(rendezvous), ranks_(plans.size()) {}

  Simulation Run() {
    for (size_t r = 0; r < plans_.size(); ++r) CheckPlan(r);
    for (bool moved = true; moved && error_.str().empty();) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) moved = Advance(r) || moved;
    }
    Simulation result;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].step < plans_[r].steps.size()) {
        error_ << "rank " << r << " waits for ever in step " << ranks_[r].step << "\n";
      }
      result.time = std::max(result.time, ranks_[r].time);
    }
    for (const auto& [ends, box] : mail_) {
      if (box.empty()) continue;
      error_ << box.size() << " messages from " << ends.first << " to " << ends.second
             << " were not received\n";
    }
    result.error = error_.str();
    result.state = std::move(state_);
    return result;
  }

 private:
  bool GoodRange(const PartRange& range) const {
    return 0 <= range.begin && range.begin < range.end && range.end <= plans_[0].parts;
  }

  void CheckPlan(int rank) {
    const int world = static_cast<int>(plans_.size());
    const auto check = [&](bool good, size_t step, const char* what) {
      if (!good) error_ << "rank " << rank << " step " << step << ": " << what << "\n";
    };
    check(plans_[rank].parts == plans_[0].parts, 0, "other number of parts than rank 0");
    for (size_t s = 0; s < plans_[rank].steps.size(); ++s) {
      const PlanStep& step = plans_[rank].steps[s];
      const bool sends = step.send_to >= 0, receives = step.receive_from >= 0;
      check(sends || receives, s, "does nothing");
      check(step.send_to < world && step.receive_from < world, s, "no such rank");
      check(step.send_to != rank && step.receive_from != rank, s, "message to itself");
      check(!sends || GoodRange(step.send), s, "sends parts that do not exist");
      check(!receives || GoodRange(step.receive), s, "receives parts that do not exist");
      check(receives || !step.reduce, s, "adds nothing");
      const bool overlap = step.send.begin < step.receive.end && step.receive.begin < step.send.end;
      check(!(sends && receives && !step.reduce && overlap), s, "replaces what it sends");
    }
  }

  void Post(int r, const PlanStep& step) {
    Rank& rank = ranks_[r];
    rank.posted = true;
    rank.end = rank.time;
    rank.sent = step.send_to < 0 || !rendezvous_;
    rank.received = step.receive_from < 0;
    if (step.send_to < 0) return;
    Envelope message = {step.send, {}, rank.time};
    for (int p = step.send.begin; p < step.send.end; ++p) {
      state_[r][p] = Rounded(state_[r][p]);
      message.values.push_back(state_[r][p]);
    }
    mail_[{r, step.send_to}].push_back(std::move(message));
  }

  void Take(int r, const PlanStep& step) {
    Rank& rank = ranks_[r];
    auto& box = mail_[{step.receive_from, r}];
    if (box.empty()) return;
    Envelope message = std::move(box.front());
    box.pop_front();
    if (message.range.begin != step.receive.begin || message.range.end != step.receive.end) {
      error_ << "rank " << r << " step " << rank.step << ": receives " << step.receive.begin << ".."
             << step.receive.end << ", rank " << step.receive_from << " sent "
             << message.range.begin << ".." << message.range.end << "\n";
      return;
    }
    rank.received = true;
    rank.message = std::move(message.values);
    const int through = std::max(message.posted, rank.time) + 1;
    rank.end = std::max(rank.end, through);
    if (rendezvous_) {
      Rank& sender = ranks_[step.receive_from];
      sender.sent = true;
      sender.end = std::max(sender.end, through);
    }
  }

  // Whether anything happened.
  bool Advance(int r) {
    Rank& rank = ranks_[r];
    if (rank.step == plans_[r].steps.size()) return false;
    const PlanStep& step = plans_[r].steps[rank.step];
    bool moved = false;
    if (!rank.posted) {
      Post(r, step);
      moved = true;
    }
    if (!rank.received) {
      Take(r, step);
      moved = moved || rank.received;
    }
    if (!rank.received || !rank.sent || !error_.str().empty()) return moved;
    for (int p = step.receive.begin; step.receive_from >= 0 && p < step.receive.end; ++p) {
      const PartValue& value = rank.message[p - step.receive.begin];
      state_[r][p] = step.reduce ? Sum(state_[r][p], value) : value;
    }
    ++rank.step;
    rank.posted = false;
    rank.time = rank.end;
    return true;
  }

  const std::vector<Plan>& plans_;
  WorldState state_;
  const bool rendezvous_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<Envelope>> mail_;  // by sender and receiver
  std::ostringstream error_;
};

}  // namespace

WorldState OwnValues(int world, int parts) {
  WorldState state(world, std::vector<PartValue>(parts));
  for (int r = 0; r < world; ++r) {
    for (int p = 0; p < parts; ++p) {
      state[r][p].contributions.assign(world, 0);
      state[r][p].contributions[r] = 1;
      state[r][p].expression = Mix(1, r, p);
    }
  }
  return state;
}

Simulation Simulate(const std::vector<Plan>& plans, WorldState state, bool rendezvous) {
  return World(plans, std::move(state), rendezvous).Run();
}

int PartsSent(const Plan& plan) {
  int parts = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.send_to >= 0) parts += step.send.end - step.send.begin;
  }
  return parts;
}

int MessagesSent(const Plan& plan) {
  int messages = 0;
  for (const PlanStep& step : plan.steps) messages += step.send_to >= 0;
  return messages;
}

}  // namespace gf

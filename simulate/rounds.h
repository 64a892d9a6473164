#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/plan.h"

namespace gf {

// A message of a collective, in parts of the vector.
struct PlanMessage {
  int from = 0, to = 0, parts = 0;
  bool reduce = false;  // the receiver adds it up
};

// Messages that travel at the same time, so many times one after the other.
struct PlanRound {
  int64_t times = 1;
  std::vector<PlanMessage> messages;
};

struct PlanRounds {
  int parts = 1;    // that the vector is cut into
  int largest = 0;  // parts in the largest message
  std::vector<PlanRound> rounds;
};

// Note [Rounds of large worlds]
// The plans of all ranks of a ring of 4,096 hold 33 million steps, but only two patterns: every
// rank does the same 4,095 times while it reduces and 4,095 times while it gathers. So plans are
// made one rank at a time and kept as runs of equal steps. Where every rank's step s meets its
// peer's step s (rings, tori, hypercubes), the borders of all runs cut the steps into rounds with
// equal messages. In other plans (trees, rings of some ranks) steps with different numbers meet;
// there a message's round is the step at which both ends are free, found by following the plans
// message by message. Those plans are short on most ranks.
//
// `plan`: what a rank does. Plans that do not fit together are a bug of theirs (CHECK).
PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world);

}  // namespace gf

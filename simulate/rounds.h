#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/plan.h"

namespace gf {

// A message of a collective; sizes are in parts of the vector.
struct PlanMessage {
  int from = 0, to = 0, parts = 0;
  bool reduce = false;  // whether the receiver adds it to its data
};

// Messages that travel at the same time, and the number of repetitions.
struct PlanRound {
  int64_t times = 1;
  std::vector<PlanMessage> messages;
};

struct PlanRounds {
  int parts = 1;    // number of parts in the vector
  int largest = 0;  // number of parts in the largest message
  std::vector<PlanRound> rounds;
};

// Note [Rounds of large worlds]
// The plans of all ranks in a ring of 4,096 have 33 million steps but only two patterns: every rank
// repeats one step 4,095 times while it reduces, and another 4,095 times while it gathers. So plans
// are made one rank at a time and stored as runs of equal steps. If step s of every rank exchanges
// messages with step s of another rank (rings, tori, hypercubes), the borders of all runs cut the
// steps into rounds with equal messages. In other plans (trees, rings of some ranks), a message can
// connect steps with different numbers. The round of such a message is the step at which both ends
// are free, found by following the plans message by message. These plans are short on most ranks.
//
// `plan` returns the plan of a rank. Plans that do not match each other are a bug (CHECK).
PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world);

}  // namespace gf

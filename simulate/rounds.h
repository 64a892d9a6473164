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

// The messages of the first `period` ranks; the other ranks' are these with all ranks counted on by
// the period, around the circle of ranks.
struct PlanRounds {
  int period = 1;
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
// An all-to-all of 4,096 ranks has as many patterns as steps, but its plans repeat: the plan of
// rank r + 1 is that of rank r with all ranks counted on by one. What repeats in the network, too
// (Network::Period), is made and priced once.
//
// `plan` returns the plan of a rank. Plans that do not match each other are a bug (CHECK).
PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world);
// The same for plans of which those of rank r and r + `period` are equal but for the ranks in them,
// which are counted on by `period` around the circle. The period divides the world.
PlanRounds RoundsOf(const std::function<Plan(int rank)>& plan, int world, int period);

}  // namespace gf

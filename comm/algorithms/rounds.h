#pragma once

#include <vector>

#include "comm/plan.h"

namespace gf {

// A message of a collective, seen from outside.
struct Message {
  int from = 0, to = 0;  // ranks
  PartRange range;
  bool reduce = false;
  std::vector<int> after;  // indices of the messages that `from` has to have received before
};

// Note [Rounds]
// Puts messages into rounds, in each of which a rank sends at most one message and receives at
// most one, and returns `rank`'s steps, one per round in which it takes part. In every round each
// message that can go does, in the order given. As all ranks follow the same rounds, no rank waits
// for one that waits for it: of the messages that are not through, one of the earliest round always
// finds both its ends there.
//
// A message that replaces values must be ordered (by `after`) behind those out of the same parts
// that its receiver sends before; then no step replaces what it sends.
std::vector<PlanStep> StepsInRounds(const std::vector<Message>& messages, int rank);

}  // namespace gf

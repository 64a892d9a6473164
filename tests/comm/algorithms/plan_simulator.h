#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/plan.h"

namespace gf {

// What a rank holds of one part.
struct PartValue {
  // How often each rank's values are in the sum.
  std::vector<int> contributions;
  // The sum as an expression: which numbers were added in which order, and where they were rounded
  // to the wire type. Addition commutes but is not associative. Equal expressions mean equal bits.
  uint64_t expression = 0;
  bool rounded = false;  // rounding again changes nothing
};

// By rank, by part.
using WorldState = std::vector<std::vector<PartValue>>;

// Every rank with values of its own.
WorldState OwnValues(int world, int parts);

struct Simulation {
  // What is wrong with the plans; empty = nothing. The rest is valid only then.
  std::string error;
  WorldState state;
  // Steps on the longest chain of messages that wait for each other, a message taking one unit of
  // time once both its ends are there.
  int time = 0;
};

// Runs plans[rank] on all ranks at once. With rendezvous a send is through when it has been
// received, else when it was posted. Finds plans that wait for each other, messages that nobody
// receives, ranges that differ between sender and receiver or lie outside the vector, and
// messages in that replace what the same step sends.
Simulation Simulate(const std::vector<Plan>& plans, WorldState state, bool rendezvous = true);

// Parts (times messages) that a rank sends, of `parts`.
int PartsSent(const Plan& plan);

// Messages that a rank sends.
int MessagesSent(const Plan& plan);

}  // namespace gf

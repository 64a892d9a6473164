#pragma once

#include <vector>

#include "comm/plan.h"

namespace gf {

// Member i sends to member i + 1, the last one to the first. The vector, or the range of parts that
// the ring works on, is divided into one share per member.
struct Ring {
  std::vector<int> members;  // ranks
  std::vector<PartRange> shares;
};

// The ring of these ranks, shares of `width` parts each from part `begin` on.
Ring MakeRing(std::vector<int> members, int width = 1, int begin = 0);

// Append what members[i] does, in members - 1 steps of one share in and one out (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009). After
// the reduce-scatter member i holds the sum of share i; the all-gather starts there.
void AppendReduceScatter(const Ring& ring, int i, std::vector<PlanStep>* steps);
void AppendAllGather(const Ring& ring, int i, std::vector<PlanStep>* steps);

}  // namespace gf

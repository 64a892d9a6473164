#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// What a rank that was asked is doing.
struct RankState {
  bool answered = false;
  bool idle = false;     // it is in no operation, `doing` is its activity
  int64_t sequence = 0;  // number of its operation
  std::string doing;     // "allreduce of fc6.weight, step 12"
};

// Why rank `me` waits in vain, in words ("missing: rank 3 (host b)"), from the states of all ranks;
// states[me] is its own.
//
// Note [Who is missing]
// A rank that does not answer is dead, stopped or cut off: then it alone is named, because all
// others wait for it, if only through each other. If all answer, those are named that are in no
// operation; if all are in one, but not the same, all are, the fewest first.
std::string WhyNobodyComes(const std::vector<RankState>& states, int me,
                           const std::vector<std::string>& hosts);

// "rank 3 (host b), rank 5 (host c) and 7 more"
std::string NamesOfRanks(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

// "rank 3 (host b)", "rank 3" where hosts are not known yet (empty).
std::string NameOfRank(int rank, const std::vector<std::string>& hosts);

}  // namespace gf

#include "comm/mpi/missing_ranks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "comm/communicator.h"
#include "comm/failure/stopped_ranks.h"
#include "core/error.h"

namespace gf {
namespace {

// Ranks, or groups of them, that a message names.
constexpr size_t kNamed = 8;

// The ranks' names, each with what `more` adds.
std::string List(const std::vector<int>& ranks, const std::vector<std::string>& hosts,
                 const std::function<std::string(int)>& more) {
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < kNamed; ++i) {
    text += StrCat(i == 0 ? "" : ", ", NameOfRank(ranks[i], hosts), more(ranks[i]));
  }
  if (ranks.size() > kNamed) text += StrCat(" and ", ranks.size() - kNamed, " more");
  return text;
}

// Which ranks wait in what.
std::string OutOfStep(const std::vector<RankState>& states, const std::vector<std::string>& hosts) {
  std::map<std::string, std::vector<int>> groups;
  for (size_t i = 0; i < states.size(); ++i) groups[states[i].doing].push_back(static_cast<int>(i));
  std::vector<std::pair<size_t, std::string>> by_size;
  for (const auto& [operation, ranks] : groups) {
    const bool one = ranks.size() == 1;
    by_size.emplace_back(ranks.size(), StrCat(one ? NameOfRank(ranks[0], hosts) : RankList(ranks),
                                              one ? " waits in " : " wait in ", operation));
  }
  std::sort(by_size.begin(), by_size.end());
  std::string text = "out of step: ";
  for (size_t i = 0; i < by_size.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : "; ") + by_size[i].second;
  }
  return text;
}

}  // namespace

std::string NameOfRank(int rank, const std::vector<std::string>& hosts) {
  return hosts.empty() ? StrCat("rank ", rank) : RankName(rank, hosts);
}

std::string NamesOfRanks(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  return List(ranks, hosts, [](int) { return ""; });
}

std::string WhyNobodyComes(const std::vector<RankState>& states, int me,
                           const std::vector<std::string>& hosts) {
  std::vector<int> silent, busy;
  bool elsewhere = false;
  for (size_t i = 0; i < states.size(); ++i) {
    const RankState& state = states[i];
    if (static_cast<int>(i) == me) continue;
    if (!state.answered) {
      silent.push_back(static_cast<int>(i));
    } else if (state.idle) {
      busy.push_back(static_cast<int>(i));
    } else {
      elsewhere |= state.sequence != states[me].sequence || state.doing != states[me].doing;
    }
  }
  if (!silent.empty()) return "missing: " + NamesOfRanks(silent, hosts) + StoppedRanks();
  if (!busy.empty()) {
    return "missing: " + List(busy, hosts, [&](int rank) {
             const std::string& doing = states[rank].doing;
             return doing.empty() ? "" : StrCat(" (busy with ", doing, ")");
           });
  }
  if (elsewhere) return OutOfStep(states, hosts);
  return "all ranks wait there: the network between them is stuck";
}

}  // namespace gf

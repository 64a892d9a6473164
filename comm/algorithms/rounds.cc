#include "comm/algorithms/rounds.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gf {

std::vector<PlanStep> StepsInRounds(const std::vector<Message>& messages, int rank) {
  std::vector<int> waiting(messages.size());
  std::iota(waiting.begin(), waiting.end(), 0);

  int ranks = 0;
  for (const Message& m : messages) ranks = std::max({ranks, m.from + 1, m.to + 1});
  std::vector<int> round_of(messages.size(), -1), last_sent(ranks, -1), last_received(ranks, -1);
  std::vector<PlanStep> steps;
  for (int round = 0; !waiting.empty(); ++round) {
    PlanStep step;
    const auto go = [&](int index) {
      const Message& m = messages[index];
      if (last_sent[m.from] == round || last_received[m.to] == round) return false;
      for (const int before : m.after) {
        if (round_of[before] < 0 || round_of[before] == round) return false;
      }
      round_of[index] = last_sent[m.from] = last_received[m.to] = round;
      if (m.from == rank) {
        step.send_to = m.to;
        step.send = m.range;
      } else if (m.to == rank) {
        step.receive_from = m.from;
        step.receive = m.range;
        step.reduce = m.reduce;
      }
      return true;
    };
    std::vector<int> later;
    for (const int index : waiting) {
      if (!go(index)) later.push_back(index);
    }
    CHECK_LT(later.size(), waiting.size());
    waiting = std::move(later);
    if (step.send_to >= 0 || step.receive_from >= 0) steps.push_back(step);
  }
  return steps;
}

}  // namespace gf

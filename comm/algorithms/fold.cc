#include "comm/algorithms/fold.h"

#include "comm/algorithms/placement.h"

namespace gf {

Fold MakeFold(const Topology& topology) {
  const std::vector<int> order = NodeOrder(topology);
  const int world = topology.world();
  const int extras = world - FloorPowerOfTwo(world);
  Fold fold;
  for (int at = 0; at < world;) {
    const bool paired = at < 2 * extras;
    fold.core.push_back(order[at++]);
    fold.extra.push_back(paired ? order[at++] : -1);
  }
  return fold;
}

void AppendFoldIn(const Fold& fold, int rank, int i, int parts, std::vector<PlanStep>* steps) {
  if (fold.extra[i] < 0) return;
  PlanStep step;
  if (rank == fold.core[i]) {
    step.receive_from = fold.extra[i];
    step.receive = {0, parts};
    step.reduce = true;
  } else {
    step.send_to = fold.core[i];
    step.send = {0, parts};
  }
  steps->push_back(step);
}

}  // namespace gf

#include "comm/algorithms/ring.h"

#include <numeric>
#include <utility>

#include "comm/algorithms/placement.h"

namespace gf {
namespace {

// In step s member i sends share i + first - s and receives the one before it.
void AppendSteps(const Ring& ring, int i, int first, bool reduce, std::vector<PlanStep>* steps) {
  const int n = static_cast<int>(ring.members.size());
  for (int s = 0; s < n - 1; ++s) {
    const int out = (i + first - s + 2 * n) % n;
    PlanStep step;
    step.send_to = ring.members[(i + 1) % n];
    step.send = ring.shares[out];
    step.receive_from = ring.members[(i + n - 1) % n];
    step.receive = ring.shares[(out + n - 1) % n];
    step.reduce = reduce;
    steps->push_back(step);
  }
}

std::vector<int> RanksInOrder(int world) {
  std::vector<int> ranks(world);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class RingAlgorithm : public Algorithm {
 public:
  Plan AllReduce(int rank, const Topology& topology) const override {
    const Ring ring = MakeRing(NodeOrder(topology));
    const int i = PositionOf(rank, ring.members);
    Plan plan;
    plan.parts = topology.world();
    AppendReduceScatter(ring, i, &plan.steps);
    AppendAllGather(ring, i, &plan.steps);
    return plan;
  }
};

}  // namespace

Ring MakeRing(std::vector<int> members, int width, int begin) {
  Ring ring;
  ring.members = std::move(members);
  for (size_t i = 0; i < ring.members.size(); ++i, begin += width) {
    ring.shares.push_back({begin, begin + width});
  }
  return ring;
}

void AppendReduceScatter(const Ring& ring, int i, std::vector<PlanStep>* steps) {
  AppendSteps(ring, i, -1, /*reduce=*/true, steps);
}

void AppendAllGather(const Ring& ring, int i, std::vector<PlanStep>* steps) {
  AppendSteps(ring, i, 0, /*reduce=*/false, steps);
}

Plan RingReduceScatter(int rank, int world) {
  Plan plan;
  plan.parts = world;
  AppendReduceScatter(MakeRing(RanksInOrder(world)), rank, &plan.steps);
  return plan;
}

Plan RingAllGather(int rank, int world) {
  Plan plan;
  plan.parts = world;
  AppendAllGather(MakeRing(RanksInOrder(world)), rank, &plan.steps);
  return plan;
}

GF_REGISTER(AlgorithmRegistry, "ring", RingAlgorithm);

}  // namespace gf

#include <vector>

#include "comm/algorithms/placement.h"
#include "comm/algorithms/ring.h"

namespace gf {
namespace {

// In every node a binomial tree adds up the whole vector in its first rank, the first ranks do a
// ring allreduce, and the tree spreads the sum (Jia et al., "Highly scalable deep learning training
// system with mixed-precision", arXiv 1807.11205). One part per node.
class Hierarchical : public Algorithm {
 public:
  bool Fits(const Topology& topology) const override {
    const auto nodes = RanksByNode(topology);
    return nodes.size() > 1 && static_cast<int>(nodes.size()) < topology.world();
  }

  Plan AllReduce(int rank, const Topology& topology) const override {
    const auto nodes = RanksByNode(topology);
    const auto& local = nodes[topology.node[rank]];
    const int i = PositionOf(rank, local), count = static_cast<int>(local.size());
    Plan plan;
    plan.parts = static_cast<int>(nodes.size());
    const PartRange all = {0, plan.parts};

    std::vector<PlanStep> spread;  // the tree, backwards
    for (int distance = 1; distance < count; distance *= 2) {
      PlanStep up, down;
      if ((i & distance) != 0) {
        up.send_to = down.receive_from = local[i - distance];
        up.send = down.receive = all;
      } else if (i + distance < count) {
        up.receive_from = down.send_to = local[i + distance];
        up.receive = down.send = all;
        up.reduce = true;
      } else {
        continue;
      }
      plan.steps.push_back(up);
      spread.push_back(down);
      if (up.send_to >= 0) break;
    }
    if (i == 0) {
      std::vector<int> firsts;
      for (const auto& ranks : nodes) firsts.push_back(ranks[0]);
      const Ring ring = MakeRing(firsts);
      AppendReduceScatter(ring, topology.node[rank], &plan.steps);
      AppendAllGather(ring, topology.node[rank], &plan.steps);
    }
    plan.steps.insert(plan.steps.end(), spread.rbegin(), spread.rend());
    return plan;
  }
};

GF_REGISTER(AlgorithmRegistry, "hierarchical", Hierarchical);

}  // namespace
}  // namespace gf

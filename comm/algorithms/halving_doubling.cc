#include <utility>
#include <vector>

#include "comm/algorithms/fold.h"
#include "comm/algorithms/placement.h"

namespace gf {
namespace {

// A reduce-scatter by recursive halving and an all-gather by recursive doubling (Rabenseifner,
// "Optimization of collective reduction operations", ICCS 2004). The longest messages go to the
// nearest ranks in node order. One part per core rank.
class HalvingDoubling : public Algorithm {
 public:
  Plan AllReduce(int rank, const Topology& topology) const override {
    const Fold fold = MakeFold(topology);
    Plan plan;
    plan.parts = static_cast<int>(fold.core.size());
    const int core = PositionOf(rank, fold.core);
    if (core < 0) {
      const int i = PositionOf(rank, fold.extra);
      AppendFoldIn(fold, rank, i, plan.parts, &plan.steps);
      PlanStep result;
      result.receive_from = fold.core[i];
      result.receive = {0, plan.parts};
      plan.steps.push_back(result);
      return plan;
    }

    AppendFoldIn(fold, rank, core, plan.parts, &plan.steps);
    std::vector<PlanStep> gather;  // the reduce-scatter, backwards
    PartRange mine = {0, plan.parts};
    for (int distance = 1; distance < plan.parts; distance *= 2) {
      const int middle = (mine.begin + mine.end) / 2;
      PartRange kept = {mine.begin, middle}, other = {middle, mine.end};
      if ((core & distance) != 0) std::swap(kept, other);
      const int peer = fold.core[core ^ distance];
      plan.steps.push_back({peer, other, peer, kept, /*reduce=*/true});
      gather.push_back({peer, kept, peer, other, /*reduce=*/false});
      mine = kept;
    }
    plan.steps.insert(plan.steps.end(), gather.rbegin(), gather.rend());
    if (fold.extra[core] >= 0) {
      PlanStep result;
      result.send_to = fold.extra[core];
      result.send = {0, plan.parts};
      plan.steps.push_back(result);
    }
    return plan;
  }
};

GF_REGISTER(AlgorithmRegistry, "halving_doubling", HalvingDoubling);

}  // namespace
}  // namespace gf

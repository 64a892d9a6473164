#include "comm/algorithms/fold.h"
#include "comm/algorithms/placement.h"

namespace gf {
namespace {

// Whole vectors are exchanged at distance 1, 2, 4, ... (Thakur, Rabenseifner and Gropp, IJHPCA
// 2005): few steps, many bytes.
//
// An extra rank is not sent the result, which its core rank would have to round while ranks
// without an extra keep theirs as it is. It is sent the two terms of the last sum instead, and so
// ends with the same bits in as many steps. Where both core ranks of the last exchange have
// extras, these exchange the terms just like them.
class RecursiveDoubling : public Algorithm {
 public:
  Plan AllReduce(int rank, const Topology& topology) const override {
    const Fold fold = MakeFold(topology);
    const int cores = static_cast<int>(fold.core.size());
    Plan plan;
    if (cores == 1) return plan;
    const int core = PositionOf(rank, fold.core);
    const bool is_core = core >= 0;
    const int i = is_core ? core : PositionOf(rank, fold.extra);
    AppendFoldIn(fold, rank, i, plan.parts, &plan.steps);

    const int last = cores / 2;
    const int partner = i ^ last;
    if (!is_core) {
      plan.steps.push_back(Receive(fold.core[i], /*reduce=*/false));
      plan.steps.push_back(fold.extra[partner] >= 0 ? Exchange(fold.extra[partner])
                                                    : Receive(fold.core[partner], true));
      return plan;
    }
    for (int distance = 1; distance < last; distance *= 2) {
      plan.steps.push_back(Exchange(fold.core[i ^ distance]));
    }
    const int extra = fold.extra[i] >= 0 ? fold.extra[i] : fold.extra[partner];
    if (extra >= 0) plan.steps.push_back(Send(extra));
    plan.steps.push_back(Exchange(fold.core[partner]));
    return plan;
  }

 private:
  static PlanStep Send(int to) {
    PlanStep step;
    step.send_to = to;
    step.send = {0, 1};
    return step;
  }

  static PlanStep Receive(int from, bool reduce) {
    PlanStep step;
    step.receive_from = from;
    step.receive = {0, 1};
    step.reduce = reduce;
    return step;
  }

  static PlanStep Exchange(int with) {
    PlanStep step = Receive(with, /*reduce=*/true);
    step.send_to = with;
    step.send = {0, 1};
    return step;
  }
};

GF_REGISTER(AlgorithmRegistry, "recursive_doubling", RecursiveDoubling);

}  // namespace
}  // namespace gf

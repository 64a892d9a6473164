#include "comm/plan.h"

namespace gf {

Plan AllToAll(int rank, int world) {
  Plan plan;
  plan.parts = 2 * world;
  for (int s = 1; s < world; ++s) {
    PlanStep step;
    step.send_to = (rank + s) % world;
    step.send = {step.send_to, step.send_to + 1};
    step.receive_from = (rank - s + world) % world;
    step.receive = {world + step.receive_from, world + step.receive_from + 1};
    plan.steps.push_back(step);
  }
  return plan;
}

}  // namespace gf

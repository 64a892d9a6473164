#include "comm/plan_carrier.h"

namespace gf {
namespace {

bool Overlap(const ElementRange& a, const ElementRange& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

void CarryOut(const Plan& plan, int64_t count, PlanCarrier* carrier) {
  const auto message = [&](int peer, const PartRange& parts) {
    PlanCarrier::Message m;
    m.range = {PartBegin(count, parts.begin, plan.parts), PartBegin(count, parts.end, plan.parts)};
    if (m.range.begin < m.range.end) m.peer = peer;
    return m;
  };
  for (const PlanStep& step : plan.steps) {
    const PlanCarrier::Message out = message(step.send_to, step.send),
                               in = message(step.receive_from, step.receive);
    // A message out holds the values from before the step.
    const bool aside =
        in.peer >= 0 && (step.reduce || (out.peer >= 0 && Overlap(out.range, in.range)));
    if (out.peer >= 0 || in.peer >= 0) carrier->Exchange(out, in, aside);
    if (aside) carrier->Merge(in.range, step.reduce);
  }
}

}  // namespace gf

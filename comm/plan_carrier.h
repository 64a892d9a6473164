#pragma once

#include <cstdint>

#include "comm/plan.h"
#include "core/pool_layout.h"

namespace gf {

// Carries out the steps of plans where everything is enqueued, not waited for: on a device's
// stream. Ranges are elements of the vector, which all ranks have.
class PlanCarrier {
 public:
  struct Message {
    int peer = -1;  // rank; -1 = there is none
    ElementRange range;
  };

  virtual ~PlanCarrier() = default;

  // Sends `out` and receives `in`, at once. What comes in replaces its range, or, if `aside`, is
  // kept apart until Merge.
  virtual void Exchange(const Message& out, const Message& in, bool aside) = 0;

  // What the last Exchange kept apart is added to the range for which it came, or replaces it.
  virtual void Merge(const ElementRange& range, bool add) = 0;
};

// A rank's part of a collective on a vector of `count` elements, step by step.
void CarryOut(const Plan& plan, int64_t count, PlanCarrier* carrier);

}  // namespace gf

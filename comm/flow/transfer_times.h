#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "comm/flow/gradient_transport.h"
#include "core/telemetry/timeline.h"

namespace gf {

// Matches the spans of a transport, which may come a step late, with the collectives that a flow
// has awaited: draws them on the timeline, in the steps to which they belong, and adds up their
// times.
class TransferTimes {
 public:
  // Seconds of collectives.
  struct Sums {
    double exposed_s = 0;   // the step waited
    double transfer_s = 0;  // they were under way
  };

  // `timeline` may be null; it outlives the object.
  explicit TransferTimes(Timeline* timeline) : timeline_(timeline) {}

  // A collective was awaited. `in_step`: during a step; times between steps are not added up.
  void Awaited(const std::string& name, int64_t bytes, bool in_step);

  // Spans of the collectives that were awaited, in order, each once.
  void Add(const std::vector<TransferSpan>& spans);

  // The sums since the last call.
  Sums Take();

 private:
  struct Collective {
    std::string name;
    int64_t bytes;
    int64_t step;  // the timeline's
    bool in_step;
  };

  Timeline* const timeline_;
  std::deque<Collective> awaited_;  // their spans have not come
  Sums sums_;
};

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/telemetry/timeline.h"
#include "data/loader/loader.h"
#include "models/net.h"

namespace gf {

// Hands out the batches of the training data, and lets the device take over the next one while it
// computes.
class BatchFeed {
 public:
  // All outlive the object.
  BatchFeed(Loader* loader, Net* net, Timeline* timeline)
      : loader_(loader), net_(net), timeline_(timeline) {}

  // Waits for the next batch if it is not there yet. It stays as it is until the next call of Next
  // or Prefetch. Throws UserError for damaged data.
  const Batch& Next();
  // Of the batch that Next returned last: seconds that were waited for it, and the position in the
  // data behind it.
  double waited() const { return waited_; }
  int64_t position() const { return position_; }

  // Fetches the next batch if it is there.
  void Prefetch();

 private:
  void Fetch();

  Loader* const loader_;
  Net* const net_;
  Timeline* const timeline_;
  const Batch* batch_ = nullptr;  // the next one; null: not fetched yet
  double waited_ = 0;
  int64_t position_ = 0;
};

}  // namespace gf

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/device.h"

namespace gf {

// Note [Recorded passes]
// A GPU that receives kernels one by one waits for the host between small ones. So operations that
// enqueue the same work in every step are recorded, and one call replays a whole stretch of them. A
// stretch ends before an operation that does not repeat (input, dropout's random numbers, the loss,
// which reads labels on the host). It also ends after an operation that completes a bucket of
// gradients, because the bucket must start at once. The first pass is not recorded, because
// libraries load and allocate in it. Devices that cannot record run every pass in the ordinary way.

// A forward or backward pass over a net's operations, in execution order.
class RecordedPass {
 public:
  using Call = std::function<void(int)>;

  // `repeats`: for each operation, whether it may be recorded.
  RecordedPass(Device* device, std::vector<bool> repeats);

  // Sets the operations after which Run must call `after` before it enqueues the next one. After
  // other operations, Run may enqueue more first. By default, all operations are such ends.
  void SetEnds(std::vector<bool> ends);

  // For every operation in order: calls `enqueue`, or replays the work that it enqueued in an
  // earlier pass; once the work is enqueued, calls `after`.
  void Run(const Call& enqueue, const Call& after);

  // Runs the pass without recordings.
  void RunPlain(const Call& enqueue, const Call& after) const;

  // Forgets the recordings: from now on operations enqueue other work.
  void Clear() { stretches_.clear(); }

  // Number of replayed operations.
  int recorded() const;

 private:
  // Operations [begin, end), recorded or not.
  struct Stretch {
    int begin, end;
    std::unique_ptr<Recording> recording;
  };

  void Record(const Call& enqueue);

  Device* const device_;
  const std::vector<bool> repeats_;
  std::vector<bool> ends_;
  bool warm_ = false;
  std::vector<Stretch> stretches_;  // empty until Record
};

}  // namespace gf

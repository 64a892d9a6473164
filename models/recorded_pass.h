#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/device.h"

namespace gf {

// Note [Recorded passes]
// A GPU that is given a net's kernels one by one waits for the host between small ones. So what
// enqueues the same work in every step is recorded and replayed with one call per stretch. A
// stretch ends before an operation that does not repeat (input, dropout's numbers, the loss, which
// looks at labels on the host) and where someone must act as soon as an operation is enqueued (a
// bucket of gradients is complete). The first pass is not recorded: libraries load and allocate in
// it. Nothing is done differently on devices that record nothing.

// A pass over a net's operations, forward or backward, in the order in which it runs them.
class RecordedPass {
 public:
  using Call = std::function<void(int)>;

  // `repeats`: per operation, whether it may be recorded.
  RecordedPass(Device* device, std::vector<bool> repeats);

  // Operations after which Run calls `after` before it enqueues another; after the others it may
  // enqueue more first. At the start: all.
  void SetEnds(std::vector<bool> ends);

  // Calls `enqueue` for every operation, or replays what it enqueued in an earlier pass, and
  // `after` for every operation once it is enqueued, both in order.
  void Run(const Call& enqueue, const Call& after);

  // The same without recordings, this time.
  void RunPlain(const Call& enqueue, const Call& after) const;

  // Operations that are replayed.
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

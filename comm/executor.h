#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/plan.h"
#include "comm/transport.h"
#include "comm/wire/wire_kernels.h"

namespace gf {

// Runs plans over a transport. All ranks run the same collectives in the same order.
//
// Note [Segments]
// The vector is cut into segments, and the whole plan is run on each, several at a time: while one
// segment's sum is made or its message waits for a peer, others' messages keep the links busy.
// A message carries one part (or a few) of one segment. Segments have tags of their own, because
// ranks may get ahead with different ones. A segment is a contiguous piece of the vector, which is
// cut into the plan's parts; but where there is a part per rank, or two (AllToAll), and each
// message is one part (the ring and its halves), the vector is cut into parts first, and a segment
// is a piece of each. So a reduce-scatter leaves each rank a contiguous part, and a ring allreduce
// adds in the same order.
class Executor {
 public:
  // The longest message in bytes, see Note [Messages of 60 KiB].
  static constexpr int64_t kMessage = int64_t{60} << 10;

  explicit Executor(Transport* transport) : transport_(transport) {}

  // This rank's part of the collective. `largest`: parts in the largest message of any rank's plan.
  // Throws CommError, names `operation`.
  void Run(const Plan& plan, int largest, const Collective& collective,
           const std::string& operation);

 private:
  // A segment on its way through the plan.
  struct Segment {
    int64_t index = 0;
    int tag = 0;
    size_t step = 0;
    bool under_way = false;  // the step's messages were started
    int64_t send = -1, receive = -1;
    // Messages in the wire type where they cannot lie in the vector itself; kept for later runs.
    std::vector<char> sent, received;
  };

  struct Slice {
    int64_t begin, count;  // elements of the vector
  };

  Slice Locate(const Segment& segment, const PartRange& range) const;
  void Begin(Segment* segment);
  Progress Advance(Segment* segment);
  char* At(int64_t element) const;
  // After a reduce-scatter: as if it had traveled.
  void RoundOwnPart();

  Transport* const transport_;
  int64_t runs_ = 0;

  // Of the running collective.
  const Plan* plan_ = nullptr;
  Collective collective_;
  const WireFunctions* wire_ = nullptr;
  bool by_part_ = false;  // see Note [Segments]
  bool direct_ = false;   // own and wire type are equal: messages out lie in the vector
  size_t own_size_ = 0, wire_size_ = 0;
  int64_t segment_count_ = 1;
  std::vector<Segment> segments_;
};

}  // namespace gf

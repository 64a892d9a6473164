#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"

namespace gf {

// Where the ranks are: node[r] numbers the host of rank r, from 0 in the order of first
// appearance.
struct Topology {
  std::vector<int> node;

  int world() const { return static_cast<int>(node.size()); }
};

// A range of whole parts, see Plan.
struct PartRange {
  int begin = 0, end = 0;  // [begin, end)
};

// What one rank does at once: at most one message out and one in. The message out holds the
// values from before the step.
struct PlanStep {
  int send_to = -1;  // rank; -1 = nothing is sent
  PartRange send;
  int receive_from = -1;
  PartRange receive;
  // Received values are added to this rank's; otherwise they replace them.
  bool reduce = false;
};

// What one rank does in a collective on vectors of equal length, which are cut into `parts`
// parts as equal as can be. Steps are done in order; a message is received by the peer's first
// step that has not yet received from this rank. Plans of all ranks of a world fit together: every
// message sent is received with the same range. After an allreduce each rank holds the sum over
// all ranks, every contribution added exactly once, every rank with the same bits, given that a
// sender keeps what it sent rounded like the receiver's copy and that addition commutes.
struct Plan {
  int parts = 1;
  std::vector<PlanStep> steps;
};

// First element of part p of a vector of `count` elements that is cut into `parts` parts.
inline int64_t PartBegin(int64_t count, int p, int parts) { return count * p / parts; }

// Note [Two executors]
// Executor (comm/executor.h) carries a plan out in host memory: it can see when a message has
// arrived, so it cuts the vector into segments and takes up whichever gets on. CarryOut
// (comm/plan_carrier.h) enqueues a plan on a device's stream: the host sees nothing arrive, the
// order of the stream is the order of the plan, and the network library cuts the messages. Both
// read the same steps with the same PartBegin. One executor for both would need a segment's state
// that a stream cannot report.

// An algorithm of collectives: a pure function, a new file that registers itself.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // Whether it is defined there and differs from others (a torus of one row does not).
  virtual bool Fits(const Topology& topology) const { return true; }

  // `rank`'s part of an allreduce; a world of one has no steps.
  virtual Plan AllReduce(int rank, const Topology& topology) const = 0;
};

using AlgorithmRegistry = Registry<Algorithm>;

// The two halves of a ring allreduce. There are as many parts as ranks, and rank r ends the
// first (starts the second) with the sum of part r.
Plan RingReduceScatter(int rank, int world);
Plan RingAllGather(int rank, int world);

// There are twice as many parts as ranks: part p is sent to rank p, and what comes from rank p
// becomes part world + p. In each step everybody sends to another rank.
Plan AllToAll(int rank, int world);

}  // namespace gf

#pragma once

#include <cstdint>

namespace gf {

// What collectives of a world cost: priced from plans, or measured.
class CollectiveCosts {
 public:
  enum Kind {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    // Every rank sends part p of its vector to rank p. The vector whose bytes count is what a rank
    // has for others and for itself; the parts that it receives are another one.
    kAllToAll,
  };

  virtual ~CollectiveCosts() = default;

  virtual int world() const = 0;
  // Seconds of a collective on vectors of `bytes` bytes on the wire, while nothing else runs.
  virtual double Seconds(Kind kind, int64_t bytes) = 0;
  // Fraction of its speed that it loses while devices compute.
  virtual double RateLost(int64_t bytes) const { return 0; }
};

}  // namespace gf

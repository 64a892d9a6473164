#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/sparse/chunks.h"
#include "core/pool_layout.h"

namespace gf {

// Important chunks that travel as one message.
struct SparseBucket {
  int last_entry = 0;   // of the PoolLayout; the bucket starts when this entry is ready
  ElementRange pool;    // elements of the pool whose important chunks travel
  ElementRange packed;  // where these chunks lie among the packed ones; never empty
  std::string name;     // "chunks of fc6.weight to fc7.bias"
};

// Cuts the important chunks of a step into buckets while the entries of the pool become ready, in
// order. A bucket ends at the border of an entry, as soon as `first` bytes (in the first bucket) or
// `middle` bytes (in the others) of important chunks are ready; the last bucket takes the rest. A
// pure function of its arguments: all ranks have the same buckets, and so has a simulation.
class SparseBuckets {
 public:
  // `element_bytes`: of an element on the wire. The layout outlives the object.
  SparseBuckets(const PoolLayout& layout, int64_t element_bytes, int64_t first, int64_t middle)
      : layout_(layout), element_bytes_(element_bytes), first_(first), middle_(middle) {}

  // A new step.
  void Begin();

  // The next bucket when the first `ready` entries of the pool are ready, if enough waits for it.
  // `ready` does not fall during a step; `important` is the same in all of its calls.
  std::optional<SparseBucket> Next(const ChunkSet& important, int ready);

 private:
  const PoolLayout& layout_;
  const int64_t element_bytes_, first_, middle_;
  int64_t done_ = 0;     // elements of the pool before the next bucket
  int first_entry_ = 0;  // of the next bucket
  bool begun_ = false;   // there was a bucket in this step
};

}  // namespace gf

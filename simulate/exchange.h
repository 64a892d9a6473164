#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// A collective of a step.
struct Send {
  int last_entry = 0;    // starts when this entry of the pool and all before it are ready
  int64_t elements = 0;  // that are sent, and updated once they are reduced
  std::string name;      // "fc8.weight to fc7.bias"
};

// What a step exchanges.
struct Exchange {
  std::vector<Send> sends;  // in order
  bool overlap = true;
  bool sharded = false;
  double density = 1;   // share of the pool's elements that are sent
  bool sparse = false;  // chunks are kept and packed
  int64_t norms = 0;    // elements (FP32) of the allreduce that chooses the next chunks
};

// That of a dense step: the product's buckets. wire_bytes: of an element on the wire.
Exchange DenseExchange(const PoolLayout& layout, const CommConfig& config, int64_t wire_bytes);

// That of a SPARSE step in which `density` of the chunks travel. Important chunks are taken to lie
// evenly in the pool: which ones they are depends on the training.
Exchange SparseExchange(const PoolLayout& layout, const CommConfig& config, int64_t wire_bytes,
                        double density);

}  // namespace gf

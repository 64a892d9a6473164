#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/sparse/chunks.h"
#include "core/config/job.pb.h"
#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// A collective of a step.
struct Send {
  int last_entry = 0;    // it starts when this entry of the pool and all before it are ready
  int64_t elements = 0;  // sent, and updated once they are reduced
  std::string name;      // "fc8.weight to fc7.bias"
  // Bytes of all ranks' messages, of an allgather that brings these elements; 0: an allreduce.
  int64_t gathered = 0;
  // Bytes of an allreduce of something else than these elements in the wire type; -1: of them.
  int64_t bytes = -1;
  // Bytes of the encoded vector, of an encoded sum of these elements; 0: not an encoded sum. Its
  // parts go to the ranks that add them up, and the vector of the sums comes back.
  int64_t encoded = 0;
};

// The collectives of a step and when each may start.
struct BucketSchedule {
  std::vector<Send> sends;  // in order
  bool overlap = true;
  bool sharded = false;
  double density = 1;     // share of the pool's elements that are sent
  bool sparse = false;    // chunks are kept and packed
  bool topk = false;      // gradients are accumulated, and the largest are sent
  bool low_rank = false;  // matrices are sent as factors
  double code_bytes = 0;  // of a gradient, with its share of a scale; 0: gradients are not encoded
  Send last;              // begins when all others have come; no elements: there is none
  bool feedback = false;  // gradients are rounded with error feedback before they are sent
  int64_t norms = 0;      // elements (FP32) of the allreduce that chooses the next chunks

  // Collectives of gradients in a step.
  int64_t buckets() const {
    return static_cast<int64_t>(sends.size()) + (last.elements > 0 ? 1 : 0);
  }
};

// The schedule of a dense step: the product's buckets. wire_bytes: of an element on the wire.
BucketSchedule DenseSchedule(const PoolLayout& layout, const CommConfig& config,
                             int64_t wire_bytes);

// The density of the config's mode at the end of training, and in a step; 1 if every gradient
// travels, 0 if factors do, or in rounds of PERIODIC nothing.
double DensityOf(const CommConfig& config);
double DensityIn(int64_t step, int64_t total_steps, const CommConfig& config);
// Fraction of all steps in which the density falls.
double DensityWarmup(const CommConfig& config);

// The schedule of a step of the config's mode at a density; of a local step of PERIODIC (density 0)
// nothing is sent.
BucketSchedule ScheduleOf(const PoolLayout& layout, const CommConfig& config, DType wire, int world,
                          double density);

// The schedule of a TOPK step.
BucketSchedule TopkSchedule(const PoolLayout& layout, const CommConfig& config, DType wire,
                            int world, double density);

// The schedule of a LOW_RANK step, after the warm-up.
BucketSchedule LowRankSchedule(const PoolLayout& layout, const CommConfig& config,
                               int64_t wire_bytes);

// The schedule of a QUANTIZED step.
BucketSchedule QuantizedSchedule(const PoolLayout& layout, const CommConfig& config,
                                 int64_t wire_bytes, int world);

// The schedule of a SPARSE step in which `density` of the chunks travel. Which chunks are important
// depends on the training: here they lie evenly in the pool.
BucketSchedule SparseSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes, double density);
// The same of given chunks.
BucketSchedule SparseSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes, const ChunkSet& important);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Note [Top-k on a GPU]
// One block per segment of a bucket. The smallest chosen magnitude of each tensor is found exactly
// by its bits, from the leading ones on: in each of three passes, the elements that have the bits
// found so far are counted by the next ones. Then each segment counts its chosen elements, and
// writes them at the place that the counts before it give: in the order of the pool, so the message
// is the one that the processor would write.

// A segment (kTopkSegment elements at most) of a bucket, and what is found out about it.
struct GpuSegment {
  int64_t begin, end;  // elements of the pool
  int entry;           // of the bucket
  int larger, equal;   // elements above and at the cut
  int take, place;     // how many of the equal ones travel; where the first chosen one goes
  double squares;      // of gradients, for local clipping
};

// A tensor of a bucket, and what is found out about it.
struct GpuEntry {
  int first_segment, segments;  // of the bucket
  int chosen, first_chosen;
  uint32_t cut;   // bits of the smallest chosen magnitude, as far as known
  int remaining;  // chosen ones among those that have these bits
};

// Bits that a pass finds, from the highest on; counts per tensor.
constexpr int kTopkPasses = 3;
constexpr int kTopkBins = 2048;

// One bucket in the GPU's memory. Messages are those of Note [Messages of TOPK].
struct GpuBucket {
  GpuSegment* segments = nullptr;
  GpuEntry* entries = nullptr;
  int* counts = nullptr;  // [entries][kTopkBins], zero between passes
  int segment_count = 0, entry_count = 0;
  uint32_t* messages = nullptr;  // of all ranks
  int64_t words = 0;             // of one rank's
  int64_t places_at = 0, values_at = 0;
};

struct TopkArrays {
  DType gradient_type = DType::kFP32, wire_type = DType::kFP32;
  void* gradients = nullptr;
  float* residual = nullptr;
  float* velocity = nullptr;  // null: no momentum
  float momentum = 0, clip = 0;
  bool nesterov = false, masking = true;
  int rank = 0, world = 1;
};

// See TopkArithmetic; enqueued on the stream.
void SendTopk(const TopkArrays& arrays, const GpuBucket& bucket, cudaStream_t stream);
void ReceiveTopk(const TopkArrays& arrays, const GpuBucket& bucket, cudaStream_t stream);
// Segments and entries of `bucket` alone are used: they are tensors that are sent as a whole.
void SendAllTopk(const TopkArrays& arrays, const GpuBucket& bucket, cudaStream_t stream);

// Finds the cut of every entry and the places of every segment's chosen elements.
void SelectTopk(const float* residual, const GpuBucket& bucket, uint32_t* ends,
                cudaStream_t stream);

}  // namespace gf

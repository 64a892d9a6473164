#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "comm/quantized/quantized_buckets.h"
#include "core/dtype.h"

namespace gf {

// Note [QUANTIZED on a GPU]
// A warp has a block of a part, a thread eight elements of it: lane l elements 4 * l to 4 * l + 3
// of either half. So what a thread moves at once are four gradients, and words of codes; elements
// whose numbers differ in bit 0, 1 or 7 are in one thread, and the other sums and differences of
// the rotation are between lanes.

// The memory of a bucket, see Note [Messages of QUANTIZED].
struct QuantizedParts {
  float* messages = nullptr;
  int64_t part_blocks = 0, part_words = 0;
  int bits = 8;
  int rank = 0, world = 1;
};

struct QuantizedArrays {
  DType gradient_type = DType::kFP32;      // FP32, BF16 or FP16
  void* gradients = nullptr;               // pool
  float* residual = nullptr;               // pool
  const QuantizedBlock* blocks = nullptr;  // of the bucket
  int64_t block_count = 0;
  bool rotate = false;
};

// One launch each, of kernels for memory of the GPU; see Note [Quantized].
void EncodeQuantized(const QuantizedArrays& arrays, const QuantizedParts& parts,
                     cudaStream_t stream);
void SumQuantized(const QuantizedParts& parts, cudaStream_t stream);
void DecodeQuantized(const QuantizedArrays& arrays, const QuantizedParts& parts,
                     cudaStream_t stream);

}  // namespace gf

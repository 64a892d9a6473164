#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "comm/quantized/quantized_buckets.h"
#include "core/dtype.h"

namespace gf {

// A bucket in the GPU's memory; see Note [Messages of QUANTIZED].
struct GpuQuantized {
  void* gradients = nullptr;  // pool of gradient_type
  DType gradient_type = DType::kFP32;
  float* residual = nullptr;               // pool
  const QuantizedBlock* blocks = nullptr;  // [block_count]
  uint32_t* messages = nullptr;            // [2 * world][part_words]
  int64_t block_count = 0, part_blocks = 0, part_words = 0;
  int bits = 8;
  bool rotate = false;
  int rank = 0, world = 1;
};

// One launch each; see QuantizedArithmetic and EncodedSum.
void EncodeQuantized(const GpuQuantized& bucket, cudaStream_t stream);
void SumQuantized(const GpuQuantized& bucket, cudaStream_t stream);
void DecodeQuantized(const GpuQuantized& bucket, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Arrays in the GPU's memory, see ChunkPools.
struct ChunkArrays {
  DType gradient_type = DType::kFP32, packed_type = DType::kFP32;
  void* gradients = nullptr;
  float* residual = nullptr;
  void* packed = nullptr;
  const int64_t* places = nullptr;  // [chunks]: first element in `packed`; -1 = not important
  double* sums = nullptr;           // [chunks], of magnitudes
  int64_t chunk_size = 1;
  float momentum = 1;
  int world = 1;
};

// The elements [begin, end) of the pool.
struct ChunkSpan {
  int64_t begin, end;
};

// One launch each; see ChunkArithmetic.
void MergeResidual(const ChunkArrays& arrays, const ChunkSpan& span, cudaStream_t stream);
void KeepOrPackChunks(const ChunkArrays& arrays, const ChunkSpan& span, cudaStream_t stream);
void UnpackChunks(const ChunkArrays& arrays, const ChunkSpan& span, cudaStream_t stream);
void AddChunkNorms(const ChunkArrays& arrays, const ChunkSpan& span, cudaStream_t stream);
// norms[c] = sums[c] for c < chunks.
void RoundNorms(const double* sums, int64_t chunks, float* norms, cudaStream_t stream);

}  // namespace gf

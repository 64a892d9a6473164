#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Consecutive elements of a pool and their place in a vector.
struct CopyRange {
  int64_t pool, packed, count;
};

// Copies `count` ranges (in the GPU's memory) from pool to vector, or back, one block each.
void CopyRanges(const CopyRange* ranges, int count, DType type, void* pool, void* packed, bool pack,
                cudaStream_t stream);

// RangePacker::Merge of `count` ranges.
void MergeRanges(const CopyRange* ranges, int64_t count, DType type, void* pool, float* residual,
                 cudaStream_t stream);

}  // namespace gf

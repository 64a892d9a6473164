#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// dx [rows][count] = the sums of dy [rows][tiles][count] over the tiles, in FP32 and in their
// order. tiles * count is below 2^31.
void TileGradient(int64_t rows, int64_t tiles, int64_t count, DType type, const void* dy, void* dx,
                  cudaStream_t stream);

}  // namespace gf

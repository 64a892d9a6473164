#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Throws CudaError if the program contains no code for the current GPU.
void CheckKernelsRunHere();

// to[i] = from[i] for i < count. Each type is FP32, FP16 or BF16.
void CastElements(DType from_type, const void* from, DType to_type, void* to, int64_t count,
                  cudaStream_t stream);

// to[n][column][row] = from[n][row][column] for `outer` matrices of rows x columns.
void TransposeElements(DType from_type, const void* from, DType to_type, void* to, int64_t outer,
                       int64_t rows, int64_t columns, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// data[i] = a number in [-1, 1) from word i % 4 of Philox(0, stream_id, i / 4).
void FillUniform(DType type, void* data, int64_t count, uint64_t stream_id, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Element i is kept if the upper 24 bits of word i % 4 of Philox(key, stream, i / 4) are at least
// `threshold`.
struct DropoutWords {
  uint64_t key, stream;
  uint32_t threshold;
};

// keep[i] = 0 or 1; y = keep ? scale * x : 0
void Dropout(DType type, const void* x, void* y, uint8_t* keep, float scale,
             const DropoutWords& words, int64_t count, cudaStream_t stream);
// dx = keep ? scale * dy : 0
void DropoutGradient(DType type, const void* dy, const uint8_t* keep, void* dx, float scale,
                     int64_t count, cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/draws.h"

namespace gf {

// Arrays [parts][part_count].
struct DroppedParts {
  int64_t parts, part_count;
  float scale;  // of the parts that are kept
};

// keep[part] = 0 or 1; y = keep ? scale * x : 0; y may be x.
void DropParts(const DroppedParts& parts, const KeepDraws& draws, DType type, const void* x,
               uint8_t* keep, void* y, cudaStream_t stream);
// dx = keep ? scale * dy : 0; dx may be dy.
void DropPartsGradient(const DroppedParts& parts, DType type, const void* dy, const uint8_t* keep,
                       void* dx, cudaStream_t stream);

}  // namespace gf

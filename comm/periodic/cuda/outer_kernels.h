#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gf {

// A range of OuterPools in the GPU's memory; velocity may be null.
struct OuterArrays {
  float* weights;
  float* anchor;
  float* differences;
  float* velocity;
};

// One launch each on `count` elements; see OuterArithmetic. `scale` is 1 / world.
void SubtractFromAnchor(const OuterArrays& arrays, int64_t count, cudaStream_t stream);
void OuterStep(const OuterArrays& arrays, int64_t count, float scale, float rate, float momentum,
               cudaStream_t stream);

}  // namespace gf

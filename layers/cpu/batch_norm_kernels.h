#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// A slice of an activation: one block of channels of images [0, n). Element (i, s, lane) lies
// at i * stride + s * block + lane. block is 16, 8 or 1.
struct BatchNormSlice {
  int64_t n = 0, stride = 0, spatial = 0;
  int block = 1;
};

// How the gradient of the fused ReLU is found.
enum class ReluGradient { kNone, kFromInput /* y recomputed from x */, kFromOutput };

// Arrays of per-channel values have `block` entries. All types: T of activations is float or
// uint16_t (BF16); arithmetic in FP32. Sums over a slice are accumulated in double per image.
template <typename T>
struct BatchNormFunctions {
  // sum += sum(x - shift), squares += sum((x - shift)^2)
  void (*statistics)(const BatchNormSlice& slice, const T* x, const float* shift, double* sum,
                     double* squares);
  // y = x * scale + offset (+ add), clipped at 0 if relu; add may be null. From the last image
  // to the first, which are more likely in the cache. `stream`: y is stored past the cache;
  // block 16 and y aligned to 64 bytes only.
  void (*apply)(const BatchNormSlice& slice, const T* x, const T* add, T* y, const float* scale,
                const float* offset, bool relu, bool stream);
  // dz = (dy + dy2), zeroed where the ReLU was; sums of dz and of dz * (x - mean). dy2, dz may
  // be null (dz is then not stored); dz may be dy. y is read for kFromOutput only.
  void (*backward_reduce)(const BatchNormSlice& slice, const T* x, const T* y, const T* dy,
                          const T* dy2, T* dz, const float* scale, const float* offset,
                          const float* mean, ReluGradient relu, double* sum, double* products);
  // dx = a * dz + b * x + c, with dz = dy zeroed where x * scale + offset <= 0 if relu (else
  // dy); dx may be dy. From the last image to the first.
  void (*backward_apply)(const BatchNormSlice& slice, const T* x, const T* dy, T* dx,
                         const float* scale, const float* offset, bool relu, const float* a,
                         const float* b, const float* c);
};

struct BatchNormKernels {
  BatchNormFunctions<float> fp32;
  BatchNormFunctions<uint16_t> bf16;
};
GF_SIMD_DECLARE(BatchNormKernels, BatchNormTable)

}  // namespace gf

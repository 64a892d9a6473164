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

// Source of the fused ReLU's gradient.
enum class ReluGradient { kNone, kFromInput /* y recomputed from x */, kFromOutput };

// Arrays of per-channel values have `block` entries. T, the type of activations, is float or
// uint16_t (BF16); arithmetic is FP32. Sums over a slice are accumulated in double, image by image.
template <typename T>
struct BatchNormFunctions {
  // sum += sum(x - shift), squares += sum((x - shift)^2)
  void (*statistics)(const BatchNormSlice& slice, const T* x, const float* shift, double* sum,
                     double* squares);
  // y = x * scale + offset (+ add), clipped at 0 if relu; add may be null. Runs from the last image
  // to the first, because the last ones are more likely in the cache. `stream`: y bypasses the
  // cache; only with block 16 and y aligned to 64 bytes.
  void (*apply)(const BatchNormSlice& slice, const T* x, const T* add, T* y, const float* scale,
                const float* offset, bool relu, bool stream);
  // dz = dy + dy2, or 0 where the ReLU clipped; also sums dz and dz * (x - mean). dy2 and dz may be
  // null (a null dz is not stored); dz may be dy. y is read for kFromOutput only.
  void (*backward_reduce)(const BatchNormSlice& slice, const T* x, const T* y, const T* dy,
                          const T* dy2, T* dz, const float* scale, const float* offset,
                          const float* mean, ReluGradient relu, double* sum, double* products);
  // dx = a * dz + b * x + c, where dz = dy, or 0 where `relu` and x * scale + offset <= 0. dx may
  // be dy. Runs from the last image to the first.
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

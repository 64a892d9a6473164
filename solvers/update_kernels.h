#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// The constants of one SGD update of a range.
struct SgdFactors {
  float rate = 0;  // learning rate of these parameters
  float momentum = 0;
  float decay = 0;  // weight decay of these parameters
  float scale = 1;  // the gradient is multiplied by it first
};

// Inner loops over ranges of pools of n elements; one thread. BF16 as uint16_t.
struct UpdateKernels {
  // v = momentum * v + rate * (scale * g + decay * w); w -= v.
  void (*sgd)(float* w, float* v, const float* g, int64_t n, const SgdFactors& factors);
  // The same with BF16 gradients; also writes the compute copy of w.
  void (*sgd_bf16)(float* w, uint16_t* compute, float* v, const uint16_t* g, int64_t n,
                   const SgdFactors& factors);
  // sum += g
  void (*add)(float* sum, const float* g, int64_t n);
  void (*add_bf16)(float* sum, const uint16_t* g, int64_t n);
  // g += sum; sum = 0
  void (*merge)(float* g, float* sum, int64_t n);
  void (*merge_bf16)(uint16_t* g, float* sum, int64_t n);
};

GF_SIMD_DECLARE(UpdateKernels, Updates)

}  // namespace gf

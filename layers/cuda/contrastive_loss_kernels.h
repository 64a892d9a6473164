#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A loss of pairs of samples [all][inner], see ContrastiveLossLayer.
struct ContrastiveLoss {
  DType type = DType::kFP32;
  bool legacy = false;
  float margin = 0;
  float least_distance = 0;  // what the gradient adds to distances
  int64_t all = 0, inner = 0;
  int64_t pairs = 0;  // that count
};

// *loss = sum / divisor. `losses`: scratch memory, one number per pair. factors [all]: what
// ContrastiveLossGradient multiplies a - b by, 0 for pairs that do not count.
void ContrastiveLossForward(const ContrastiveLoss& call, const void* a, const void* b,
                            const int64_t* labels, double divisor, float* losses, float* factors,
                            float* loss, cudaStream_t stream);
// da = scale * factor * (a - b), and db = -da; either may be null.
void ContrastiveLossGradient(const ContrastiveLoss& call, const void* a, const void* b,
                             const float* factors, float scale, void* da, void* db,
                             cudaStream_t stream);

}  // namespace gf

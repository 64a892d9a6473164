#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A hinge loss of scores [all][classes], see HingeLossLayer.
struct HingeLoss {
  DType type = DType::kFP32;
  bool squared = false;
  int64_t all = 0, classes = 0;
  int64_t samples = 0;  // that count
  const int64_t* labels = nullptr;
};

// *loss = sum / normalizer. `losses`: scratch memory, one number per sample.
void HingeLossForward(const HingeLoss& call, const void* x, double normalizer, float* losses,
                      float* loss, cudaStream_t stream);
// dx = scale * gradient of the sum, 0 for samples that do not count.
void HingeLossGradient(const HingeLoss& call, const void* x, float scale, void* dx,
                       cudaStream_t stream);

}  // namespace gf

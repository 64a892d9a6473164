#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "layers/cuda/softmax_kernels.h"

namespace gf {

// The matrix of an InfogainLossLayer, on the GPU.
struct InfogainMatrix {
  float* rows = nullptr;  // [classes][classes]
  float* sums = nullptr;  // of each row
};

// Fills the matrix, which has classes * classes elements, from one of this type. `from` may be
// to.rows.
void InfogainRows(DType type, int64_t classes, const void* from, const InfogainMatrix& to,
                  cudaStream_t stream);
// As SoftmaxLossForward (softmax_kernels.h), with rows of the matrix in place of the targets.
// Logarithms of probabilities are at least least_log.
void InfogainLossForward(const SoftmaxLoss& call, const InfogainMatrix& matrix, const void* x,
                         float least_log, double normalizer, float* losses, float* loss,
                         void* probabilities, float* saved, cudaStream_t stream);
// dx = scale * (saved * sum of the label's row - row), 0 for predictions that do not count.
void InfogainLossGradient(const SoftmaxLoss& call, const InfogainMatrix& matrix, const float* saved,
                          float scale, void* dx, cudaStream_t stream);

}  // namespace gf

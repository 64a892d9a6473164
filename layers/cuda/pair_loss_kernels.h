#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A loss of pairs, see PairLossLayer.
struct PairLoss {
  DType type = DType::kFP32;
  bool euclidean = false;
  int64_t samples = 0;  // that count
  int64_t inner = 0;    // numbers of a sample
  bool has_ignored = false;
  float ignored = 0;
  double normalizer = 0;  // 0: the number of pairs that count, at least 1
};

// *loss = sum / *divisor, and *divisor = the normalizer. `sums`: scratch memory, two numbers per
// sample.
void PairLossForward(const PairLoss& call, const void* a, const void* b, double* sums, float* loss,
                     float* divisor, cudaStream_t stream);
// da and db (either may be null) of `all` samples = scale / *divisor * gradient, 0 for samples that
// do not count.
void PairLossGradient(const PairLoss& call, int64_t all, const void* a, const void* b,
                      const float* divisor, float scale, void* da, void* db, cudaStream_t stream);

}  // namespace gf

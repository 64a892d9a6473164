#pragma once

// Kernels over the predictions of a ClassAxis, with a block per prediction.

#include <algorithm>

#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/softmax_kernels.h"

namespace gf {

constexpr int kRowThreads = 128;  // of the block that does one prediction

inline unsigned RowBlocks(const ClassAxis& view) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return static_cast<unsigned>(std::min(view.predictions(), kMost));
}

// The outer part of the view that a prediction belongs to; usually each part is one prediction.
__device__ inline int64_t SampleOf(const ClassAxis& view, int64_t prediction) {
  return view.inner == 1 ? prediction : prediction / view.inner;
}

// Index of a prediction's class 0; its classes follow at distances of view.inner.
__device__ inline int64_t StartOf(const ClassAxis& view, int64_t prediction) {
  const int64_t sample = SampleOf(view, prediction);
  return sample * (view.classes - 1) * view.inner + prediction;
}

struct RowSums {
  float max, sum, deficit;  // largest score; sum of exp(x - max); sum of weight * (max - x)
};

// `weights`: one per class, if kWeighted; otherwise all are 1.
template <bool kWeighted = false, typename T>
__device__ RowSums SumsOf(const ClassAxis& view, const T* x, const float* weights = nullptr) {
  RowSums sums;
  float max = -INFINITY;
  for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
    max = fmaxf(max, ToFloat(x[c * view.inner]));
  }
  sums.max = BlockMax(max);
  float sum = 0, deficit = 0;
  for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
    const float below = ToFloat(x[c * view.inner]) - sums.max;
    sum += expf(below);
    deficit -= kWeighted ? weights[c] * below : below;
  }
  sums.sum = BlockSum(sum);
  sums.deficit = BlockSum(deficit);
  return sums;
}

// Whether a prediction of a sample counts. Labels that do not may be out of range.
__device__ inline bool Counts(const SoftmaxLoss& call, int64_t sample, int64_t prediction) {
  return sample < call.samples && !(call.has_ignored && call.labels[prediction] == call.ignored);
}

}  // namespace gf

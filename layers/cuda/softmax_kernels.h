#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "layers/class_axis.h"

namespace gf {

// y = softmax(x) over the classes of a plain tensor with this view; y may be x.
void Softmax(const ClassAxis& view, DType type, const void* x, void* y, cudaStream_t stream);
// dx = y * (dy - sum of y * dy); dx may be dy.
void SoftmaxGradient(const ClassAxis& view, DType type, const void* y, const void* dy, void* dx,
                     cudaStream_t stream);

// Cross entropy of softmax(x) against labels [outer][inner], see SoftmaxWithLossLayer.
struct SoftmaxLoss {
  ClassAxis view;
  DType type = DType::kFP32;
  const int64_t* labels = nullptr;
  int64_t samples = 0;  // number of outer samples that count
  bool has_ignored = false;
  int64_t ignored = 0;  // label of predictions that do not count
  float smoothing = 0;
  const float* class_weights = nullptr;  // one per class; null: all are 1
  float sum_of_class_weights = 0;
  // The weight of a prediction's own label in its loss (LabelShare).
  float share = 1;
};

// *loss = sum over the predictions / normalizer. `losses`: scratch memory, one number per
// prediction. `probabilities` (in the type) and `saved` (FP32) have x's shape and may be null.
void SoftmaxLossForward(const SoftmaxLoss& call, const void* x, double normalizer, float* losses,
                        float* loss, void* probabilities, float* saved, cudaStream_t stream);
// dx = scale * (saved * (sum of weight * target) - weight * target), 0 for predictions that do not
// count.
void SoftmaxLossGradient(const SoftmaxLoss& call, const float* saved, float scale, void* dx,
                         cudaStream_t stream);

// counts[0, classes): predictions per label. counts[classes, 2 * classes): predictions whose label
// is among the top_k scores, see AccuracyLayer. The caller must clear them first.
void CountRight(const SoftmaxLoss& call, const void* scores, int64_t top_k, int* counts,
                cudaStream_t stream);
// *share = right / all. per_class [classes] (may be null): the same per class; 0 for classes
// without predictions.
void RightShares(int64_t classes, const int* counts, float* share, float* per_class,
                 cudaStream_t stream);

}  // namespace gf

#include "layers/cuda/infogain_loss_kernels.h"
#include "layers/cuda/loss_kernels.h"
#include "layers/cuda/softmax_inline.h"

namespace gf {
namespace {

// A block per row.
template <typename T>
__global__ void TakeRows(int64_t classes, const T* from, InfogainMatrix to) {
  for (int64_t row = blockIdx.x; row < classes; row += gridDim.x) {
    float sum = 0;
    for (int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
      const float value = ToFloat(from[row * classes + c]);
      to.rows[row * classes + c] = value;
      sum += value;
    }
    sum = BlockSum(sum);
    if (threadIdx.x == 0) to.sums[row] = sum;
  }
}

// A block per prediction; log(probability) = x - max - log(sum).
template <typename T>
__global__ void Forward(SoftmaxLoss call, InfogainMatrix matrix, const T* x, float least_log,
                        float* losses, T* probabilities, float* saved) {
  const ClassAxis& view = call.view;
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    const int64_t start = StartOf(view, p);
    const RowSums sums = SumsOf(view, x + start);
    const float log_sum = logf(sums.sum);
    const bool counts = Counts(call, SampleOf(view, p), p);
    const float* const row = matrix.rows + (counts ? call.labels[p] : 0) * view.classes;
    float loss = 0;
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      const float below = ToFloat(x[at]) - sums.max, log_p = below - log_sum;
      // A NaN stays one.
      if (counts) loss -= row[c] * (log_p < least_log ? least_log : log_p);
      if (probabilities == nullptr && saved == nullptr) continue;
      const float probability = expf(below) / sums.sum;
      if (probabilities != nullptr) probabilities[at] = FromFloat<T>(probability);
      if (saved != nullptr) saved[at] = probability;
    }
    loss = BlockSum(loss);
    if (threadIdx.x == 0) losses[p] = loss;
  }
}

template <typename T>
__global__ void Backward(SoftmaxLoss call, InfogainMatrix matrix, const float* saved, float scale,
                         T* dx) {
  const ClassAxis& view = call.view;
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    const int64_t start = StartOf(view, p);
    const bool counts = Counts(call, SampleOf(view, p), p);
    const int64_t label = counts ? call.labels[p] : 0;
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      float gradient = 0;
      if (counts) gradient = saved[at] * matrix.sums[label] - matrix.rows[label * view.classes + c];
      dx[at] = FromFloat<T>(scale * gradient);
    }
  }
}

}  // namespace

void InfogainRows(DType type, int64_t classes, const void* from, const InfogainMatrix& to,
                  cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Launch({SampleBlocks(classes), kRowThreads, stream}, TakeRows<T>, classes,
           static_cast<const T*>(from), to);
  });
}

void InfogainLossForward(const SoftmaxLoss& call, const InfogainMatrix& matrix, const void* x,
                         float least_log, double normalizer, float* losses, float* loss,
                         void* probabilities, float* saved, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({RowBlocks(call.view), kRowThreads, stream}, Forward<T>, call, matrix,
           static_cast<const T*>(x), least_log, losses, static_cast<T*>(probabilities), saved);
  });
  MeanLoss(losses, call.view.predictions(), normalizer, loss, stream);
}

void InfogainLossGradient(const SoftmaxLoss& call, const InfogainMatrix& matrix, const float* saved,
                          float scale, void* dx, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({RowBlocks(call.view), kRowThreads, stream}, Backward<T>, call, matrix, saved, scale,
           static_cast<T*>(dx));
  });
}

}  // namespace gf

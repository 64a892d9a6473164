#include <type_traits>

#include "core/batch.h"
#include "core/cuda/items_inline.h"
#include "layers/cuda/loss_kernels.h"
#include "layers/cuda/softmax_inline.h"
#include "layers/cuda/softmax_kernels.h"

namespace gf {
namespace {

template <typename T>
__global__ void Forward(ClassAxis view, const T* x, T* y) {
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    const int64_t start = StartOf(view, p);
    const RowSums sums = SumsOf(view, x + start);
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      y[at] = FromFloat<T>(expf(ToFloat(x[at]) - sums.max) / sums.sum);
    }
  }
}

template <typename T>
__global__ void Backward(ClassAxis view, const T* y, const T* dy, T* dx) {
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    const int64_t start = StartOf(view, p);
    float dot = 0;
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      dot += ToFloat(y[at]) * ToFloat(dy[at]);
    }
    dot = BlockSum(dot);
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      dx[at] = FromFloat<T>(ToFloat(y[at]) * (ToFloat(dy[at]) - dot));
    }
  }
}

// The loss of scores x with the label of a prediction: -sum of weight * target * log(probability),
// where log(probability) = x - max - log(sum). kWeighted: the call has class weights.
template <bool kWeighted, typename T>
__device__ float LossOf(const SoftmaxLoss& call, const RowSums& sums, const T* x, int64_t sample,
                        int64_t prediction) {
  const ClassAxis& view = call.view;
  if (!Counts(call, sample, prediction)) return 0;
  if constexpr (kWeighted) {
    const int64_t label = call.labels[prediction];
    const float log_sum = logf(sums.sum);
    float loss = (1 - call.smoothing) * call.class_weights[label] *
                 (sums.max - ToFloat(x[label * view.inner]) + log_sum);
    if (call.smoothing > 0) {
      loss += call.smoothing * (sums.deficit + call.sum_of_class_weights * log_sum) / view.classes;
    }
    return loss;
  } else {
    float loss =
        (1 - call.smoothing) * (sums.max - ToFloat(x[call.labels[prediction] * view.inner]));
    if (call.smoothing > 0) loss += call.smoothing * sums.deficit / view.classes;
    return loss + logf(sums.sum);
  }
}

template <typename T, bool kWeighted>
__global__ void LossForward(SoftmaxLoss call, const T* x, float* losses, T* probabilities,
                            float* saved) {
  const ClassAxis& view = call.view;
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    const int64_t start = StartOf(view, p);
    const RowSums sums = SumsOf<kWeighted>(view, x + start, call.class_weights);
    if (threadIdx.x == 0) {
      const int64_t sample = SampleOf(view, p);
      float loss = LossOf<kWeighted>(call, sums, x + start, sample, p);
      if (call.share < 1) {
        const int64_t other = MixedImage(sample, view.outer);
        const int64_t of = p + (other - sample) * view.inner;
        const float mixed = LossOf<kWeighted>(call, sums, x + start, other, of);
        loss = call.share * loss + (1 - call.share) * mixed;
      }
      losses[p] = loss;
    }
    if (probabilities == nullptr && saved == nullptr) continue;
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const int64_t at = start + c * view.inner;
      const float probability = expf(ToFloat(x[at]) - sums.max) / sums.sum;
      if (probabilities != nullptr) probabilities[at] = FromFloat<T>(probability);
      if (saved != nullptr) saved[at] = probability;
    }
  }
}

// Rows of items are the outer parts of the view.
template <typename T, bool kWeighted>
struct LossBackward {
  SoftmaxLoss call;
  FastDivide classes, inner;
  const float* saved;
  float scale;
  T* dx;

  __device__ void Run(int64_t first, uint32_t item) const {
    const FastDivide::Result at = inner.Divide(item), of_class = classes.Divide(at.quotient);
    const int64_t sample = first + of_class.quotient, c = of_class.remainder;
    const int64_t prediction = sample * call.view.inner + at.remainder;
    const int64_t i = first * call.view.classes * call.view.inner + item;
    float gradient = scale * GradientOf(sample, prediction, c, saved[i]);
    if (call.share < 1) {
      const int64_t other = MixedImage(sample, call.view.outer);
      const int64_t of = prediction + (other - sample) * call.view.inner;
      const float mixed = GradientOf(other, of, c, saved[i]);
      gradient = call.share * gradient + (1 - call.share) * scale * mixed;
    }
    dx[i] = FromFloat<T>(gradient);
  }

  // With the label of another prediction, `of`.
  __device__ float GradientOf(int64_t sample, int64_t of, int64_t c, float probability) const {
    if (!Counts(call, sample, of)) return 0;
    const float spread = call.smoothing / call.view.classes;
    if constexpr (kWeighted) {
      const int64_t label = call.labels[of];
      const float peak = 1 - call.smoothing;
      const float target = label == c ? peak + spread : spread;
      const float sum = peak * call.class_weights[label] + spread * call.sum_of_class_weights;
      return probability * sum - call.class_weights[c] * target;
    } else {
      return probability - (call.labels[of] == c ? 1 - call.smoothing + spread : spread);
    }
  }
};

template <typename T>
__global__ void CountRightKernel(SoftmaxLoss call, const T* scores, int64_t top_k, int* counts) {
  const ClassAxis& view = call.view;
  for (int64_t p = blockIdx.x; p < view.predictions(); p += gridDim.x) {
    if (!Counts(call, SampleOf(view, p), p)) continue;  // equal for all threads of the block
    const T* x = scores + StartOf(view, p);
    const int64_t label = call.labels[p];
    const float own = ToFloat(x[label * view.inner]);
    int above = 0;
    for (int64_t c = threadIdx.x; c < view.classes; c += blockDim.x) {
      const float other = ToFloat(x[c * view.inner]);
      above += !(other < own) && (c < label || other != own);
    }
    above = BlockSum(above);
    if (threadIdx.x != 0) continue;
    atomicAdd(&counts[label], 1);
    if (above < top_k) atomicAdd(&counts[view.classes + label], 1);
  }
}

__device__ float Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0.f : static_cast<float>(static_cast<double>(part) / whole);
}

__global__ void SharesKernel(int64_t classes, const int* counts, float* share, float* per_class) {
  int all = 0, right = 0;
  for (int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
    all += counts[c];
    right += counts[classes + c];
    if (per_class != nullptr) per_class[c] = Share(counts[classes + c], counts[c]);
  }
  all = BlockSum(all);
  right = BlockSum(right);
  if (threadIdx.x == 0) *share = Share(right, all);
}

// Calls f with a value of the type of the scores, and with whether there are class weights.
template <typename F>
void WithLoss(const SoftmaxLoss& call, const F& f) {
  WithType(call.type, [&](auto t) {
    if (call.class_weights == nullptr) return f(t, std::false_type());
    f(t, std::true_type());
  });
}

}  // namespace

void Softmax(const ClassAxis& view, DType type, const void* x, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Launch({RowBlocks(view), kRowThreads, stream}, Forward<T>, view, static_cast<const T*>(x),
           static_cast<T*>(y));
  });
}

void SoftmaxGradient(const ClassAxis& view, DType type, const void* y, const void* dy, void* dx,
                     cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Launch({RowBlocks(view), kRowThreads, stream}, Backward<T>, view, static_cast<const T*>(y),
           static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

void SoftmaxLossForward(const SoftmaxLoss& call, const void* x, double normalizer, float* losses,
                        float* loss, void* probabilities, float* saved, cudaStream_t stream) {
  WithLoss(call, [&](auto t, auto weighted) {
    using T = decltype(t);
    Launch({RowBlocks(call.view), kRowThreads, stream}, LossForward<T, decltype(weighted)::value>,
           call, static_cast<const T*>(x), losses, static_cast<T*>(probabilities), saved);
  });
  MeanLoss(losses, call.view.predictions(), normalizer, loss, stream);
}

void SoftmaxLossGradient(const SoftmaxLoss& call, const float* saved, float scale, void* dx,
                         cudaStream_t stream) {
  WithLoss(call, [&](auto t, auto weighted) {
    using T = decltype(t);
    const ClassAxis& view = call.view;
    const ItemGroups groups = GroupsOf(view.outer, view.classes * view.inner);
    const LossBackward<T, decltype(weighted)::value> f = {
        call,
        FastDivide(static_cast<uint32_t>(view.classes)),
        FastDivide(static_cast<uint32_t>(view.inner)),
        saved,
        scale,
        static_cast<T*>(dx)};
    ForItems(groups, f, stream);
  });
}

void CountRight(const SoftmaxLoss& call, const void* scores, int64_t top_k, int* counts,
                cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({RowBlocks(call.view), kRowThreads, stream}, CountRightKernel<T>, call,
           static_cast<const T*>(scores), top_k, counts);
  });
}

void RightShares(int64_t classes, const int* counts, float* share, float* per_class,
                 cudaStream_t stream) {
  Launch({1, kThreads, stream}, SharesKernel, classes, counts, share, per_class);
}

}  // namespace gf

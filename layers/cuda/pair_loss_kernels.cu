#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/loss_kernels.h"
#include "layers/cuda/pair_loss_kernels.h"

namespace gf {
namespace {

__device__ bool Ignores(const PairLoss& call, float target) {
  return call.has_ignored && target == call.ignored;
}

// A block per sample.
template <typename T>
__global__ void SampleSums(PairLoss call, const T* a, const T* b, double* sums) {
  for (int64_t sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    double loss = 0, count = 0;
    for (int64_t k = threadIdx.x; k < call.inner; k += blockDim.x) {
      const float x = ToFloat(a[sample * call.inner + k]), y = ToFloat(b[sample * call.inner + k]);
      if (Ignores(call, y)) continue;
      loss += call.euclidean ? 0.5f * (x - y) * (x - y)
                             : fmaxf(x, 0.f) - x * y + log1pf(expf(-fabsf(x)));
      ++count;
    }
    loss = BlockSum(loss);
    count = BlockSum(count);
    if (threadIdx.x != 0) continue;
    sums[2 * sample] = loss;
    sums[2 * sample + 1] = count;
  }
}

__global__ void SumUp(PairLoss call, const double* sums, float* loss, float* divisor) {
  double total = 0, count = 0;
  for (int64_t sample = threadIdx.x; sample < call.samples; sample += blockDim.x) {
    total += sums[2 * sample];
    count += sums[2 * sample + 1];
  }
  total = BlockSum(total);
  count = BlockSum(count);
  if (threadIdx.x != 0) return;
  const double normalizer = call.normalizer > 0 ? call.normalizer : fmax(count, 1.0);
  *loss = static_cast<float>(total / normalizer);
  *divisor = static_cast<float>(normalizer);
}

template <typename T>
struct Gradient {
  PairLoss call;
  const T *a, *b;
  const float* divisor;
  float scale;
  T *da, *db;

  template <int kCount>
  __device__ void Run(int64_t begin) const {
    for (int64_t i = begin; i < begin + kCount; ++i) {
      const float x = ToFloat(a[i]), y = ToFloat(b[i]);
      float dx = 0, dy = 0;
      if (i < call.samples * call.inner && !Ignores(call, y)) {
        dx = call.euclidean ? x - y : 1 / (1 + expf(-x)) - y;
        dy = call.euclidean ? y - x : -x;
      }
      const float factor = scale / *divisor;
      if (da != nullptr) da[i] = FromFloat<T>(factor * dx);
      if (db != nullptr) db[i] = FromFloat<T>(factor * dy);
    }
  }
};

}  // namespace

void PairLossForward(const PairLoss& call, const void* a, const void* b, double* sums, float* loss,
                     float* divisor, cudaStream_t stream) {
  if (call.samples > 0) {
    WithType(call.type, [&](auto t) {
      using T = decltype(t);
      Launch({SampleBlocks(call.samples), kThreads, stream}, SampleSums<T>, call,
             static_cast<const T*>(a), static_cast<const T*>(b), sums);
    });
  }
  Launch({1, kThreads, stream}, SumUp, call, sums, loss, divisor);
}

void PairLossGradient(const PairLoss& call, int64_t all, const void* a, const void* b,
                      const float* divisor, float scale, void* da, void* db, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const Gradient<T> f = {call,  static_cast<const T*>(a), static_cast<const T*>(b), divisor,
                           scale, static_cast<T*>(da),      static_cast<T*>(db)};
    Elementwise<1>(all * call.inner, f, stream);
  });
}

}  // namespace gf

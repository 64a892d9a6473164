#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/hinge_loss_kernels.h"
#include "layers/cuda/loss_kernels.h"

namespace gf {
namespace {

// How far a score is below the margin; 0 if it is not, NaN for NaN.
__device__ float Below(float x, bool own) {
  const float below = own ? 1 - x : 1 + x;
  return below < 0 ? 0 : below;
}

// A block per sample.
template <typename T>
__global__ void Forward(HingeLoss call, const T* x, float* losses) {
  for (int64_t sample = blockIdx.x; sample < call.all; sample += gridDim.x) {
    float loss = 0;
    if (sample < call.samples) {
      for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) {
        const float below = Below(ToFloat(x[sample * call.classes + c]), c == call.labels[sample]);
        loss += call.squared ? below * below : below;
      }
    }
    loss = BlockSum(loss);
    if (threadIdx.x == 0) losses[sample] = loss;
  }
}

template <typename T>
__global__ void Backward(HingeLoss call, const T* x, float scale, T* dx) {
  for (int64_t sample = blockIdx.x; sample < call.all; sample += gridDim.x) {
    for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) {
      const int64_t at = sample * call.classes + c;
      float gradient = 0;
      if (sample < call.samples) {
        const bool own = c == call.labels[sample];
        const float below = Below(ToFloat(x[at]), own);
        const float slope = below == 0 ? 0 : call.squared ? 2 * below : 1;
        gradient = scale * (own ? -slope : slope);
      }
      dx[at] = FromFloat<T>(gradient);
    }
  }
}

}  // namespace

void HingeLossForward(const HingeLoss& call, const void* x, double normalizer, float* losses,
                      float* loss, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({SampleBlocks(call.all), kThreads, stream}, Forward<T>, call, static_cast<const T*>(x),
           losses);
  });
  MeanLoss(losses, call.all, normalizer, loss, stream);
}

void HingeLossGradient(const HingeLoss& call, const void* x, float scale, void* dx,
                       cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({SampleBlocks(call.all), kThreads, stream}, Backward<T>, call, static_cast<const T*>(x),
           scale, static_cast<T*>(dx));
  });
}

}  // namespace gf

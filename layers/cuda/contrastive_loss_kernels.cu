#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/contrastive_loss_kernels.h"
#include "layers/cuda/loss_kernels.h"

namespace gf {
namespace {

struct PairTerm {
  float loss, factor;
};

__device__ PairTerm TermOf(const ContrastiveLoss& call, float square, bool similar) {
  if (similar) return {square, 1};
  const float distance = sqrtf(square);
  const float below = call.margin - (call.legacy ? square : distance);
  if (below <= 0) return {0, 0};  // a NaN goes on
  if (call.legacy) return {below, -1};
  return {below * below, -below / (distance + call.least_distance)};
}

// A block per pair.
template <typename T>
__global__ void Forward(ContrastiveLoss call, const T* a, const T* b, const int64_t* labels,
                        float* losses, float* factors) {
  for (int64_t pair = blockIdx.x; pair < call.all; pair += gridDim.x) {
    float square = 0;
    for (int64_t i = threadIdx.x; i < call.inner; i += blockDim.x) {
      const int64_t at = pair * call.inner + i;
      const float difference = ToFloat(a[at]) - ToFloat(b[at]);
      square += difference * difference;
    }
    square = BlockSum(square);
    if (threadIdx.x != 0) continue;
    PairTerm term = {0, 0};
    if (pair < call.pairs) term = TermOf(call, square, labels[pair] != 0);
    losses[pair] = term.loss;
    factors[pair] = term.factor;
  }
}

template <typename T>
__global__ void Backward(ContrastiveLoss call, const T* a, const T* b, const float* factors,
                         float scale, T* da, T* db) {
  for (int64_t pair = blockIdx.x; pair < call.all; pair += gridDim.x) {
    const float factor = scale * factors[pair];
    for (int64_t i = threadIdx.x; i < call.inner; i += blockDim.x) {
      const int64_t at = pair * call.inner + i;
      const float gradient = factor == 0 ? 0 : factor * (ToFloat(a[at]) - ToFloat(b[at]));
      if (da != nullptr) da[at] = FromFloat<T>(gradient);
      if (db != nullptr) db[at] = FromFloat<T>(-gradient);
    }
  }
}

}  // namespace

void ContrastiveLossForward(const ContrastiveLoss& call, const void* a, const void* b,
                            const int64_t* labels, double divisor, float* losses, float* factors,
                            float* loss, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({SampleBlocks(call.all), kThreads, stream}, Forward<T>, call, static_cast<const T*>(a),
           static_cast<const T*>(b), labels, losses, factors);
  });
  MeanLoss(losses, call.all, divisor, loss, stream);
}

void ContrastiveLossGradient(const ContrastiveLoss& call, const void* a, const void* b,
                             const float* factors, float scale, void* da, void* db,
                             cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({SampleBlocks(call.all), kThreads, stream}, Backward<T>, call, static_cast<const T*>(a),
           static_cast<const T*>(b), factors, scale, static_cast<T*>(da), static_cast<T*>(db));
  });
}

}  // namespace gf

#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/scale_kernels.h"

namespace gf {
namespace {

template <typename T>
struct Forward {
  ScaleView view;
  const T* x;
  const float* gamma;
  const float* beta;
  T* y;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const int64_t c = i / view.inner % view.channels;
    y[i] = FromFloat<T>(gamma[c] * ToFloat(x[i]) + (beta != nullptr ? beta[c] : 0.f));
  }
};

// One block per channel.
template <typename T>
__global__ void Sums(ScaleView view, const T* x, const T* dy, T* dgamma, T* dbeta) {
  for (int64_t c = blockIdx.x; c < view.channels; c += gridDim.x) {
    double product = 0, sum = 0;
    for (int64_t i = threadIdx.x; i < view.outer * view.inner; i += blockDim.x) {
      const int64_t at = (i / view.inner * view.channels + c) * view.inner + i % view.inner;
      product += ToFloat(dy[at]) * ToFloat(x[at]);
      sum += ToFloat(dy[at]);
    }
    product = BlockSum(product);
    sum = BlockSum(sum);
    if (threadIdx.x != 0) continue;
    dgamma[c] = FromFloat<T>(static_cast<float>(product));
    if (dbeta != nullptr) dbeta[c] = FromFloat<T>(static_cast<float>(sum));
  }
}

}  // namespace

void ScaleForward(const ScaleView& view, DType type, const void* x, const float* gamma,
                  const float* beta, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Forward<T> f = {view, static_cast<const T*>(x), gamma, beta, static_cast<T*>(y)};
    Elementwise<1>(view.outer * view.channels * view.inner, f, stream);
  });
}

void ScaleGradient(const ScaleView& view, DType type, const void* x, const void* dy,
                   const float* gamma, void* dgamma, void* dbeta, void* dx, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const int blocks = static_cast<int>(std::min<int64_t>(view.channels, 1 << 16));
    Launch({blocks, kThreads, stream}, Sums<T>, view, static_cast<const T*>(x),
           static_cast<const T*>(dy), static_cast<T*>(dgamma), static_cast<T*>(dbeta));
  });
  if (dx != nullptr) ScaleForward(view, type, dy, gamma, nullptr, dx, stream);
}

}  // namespace gf

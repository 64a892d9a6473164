#include "core/cuda/block_sums_inline.h"
#include "core/cuda/items_inline.h"
#include "layers/cuda/scale_kernels.h"

namespace gf {
namespace {

// Rows of items are the outer parts of the view. kNegativeOnly: gamma is 1 where `sign` is not
// negative.
template <typename T, bool kNegativeOnly>
struct Forward {
  FastDivide channels, inner;
  const T* x;
  const T* sign;
  const float* gamma;
  const float* beta;
  T* y;

  __device__ void Run(int64_t first, uint32_t item) const {
    const uint32_t c = channels.Divide(inner.Quotient(item)).remainder;
    const int64_t i = first * channels.divisor() * inner.divisor() + item;
    float scale = gamma != nullptr ? gamma[c] : 1.f;
    if (kNegativeOnly && !(ToFloat(sign[i]) < 0)) scale = 1;
    y[i] = FromFloat<T>(scale * ToFloat(x[i]) + (beta != nullptr ? beta[c] : 0.f));
  }
};

// One block per channel. A thread advances by blockDim.x elements of the channel: some outer parts
// and `step.remainder` inner elements. kNegativeOnly: dgamma sums where x is negative.
template <typename T, bool kNegativeOnly>
__global__ void Sums(ScaleView view, FastDivide inner, const T* x, const T* dy, T* dgamma,
                     T* dbeta) {
  const FastDivide::Result begin = inner.Divide(threadIdx.x), step = inner.Divide(blockDim.x);
  for (int64_t c = blockIdx.x; c < view.channels; c += gridDim.x) {
    double product = 0, sum = 0;
    int64_t outer = begin.quotient, rest = begin.remainder;
    while (outer < view.outer) {
      const int64_t at = (outer * view.channels + c) * view.inner + rest;
      const float value = ToFloat(x[at]);
      if (!kNegativeOnly || value < 0) product += ToFloat(dy[at]) * value;
      sum += ToFloat(dy[at]);
      outer += step.quotient;
      rest += step.remainder;
      if (rest < view.inner) continue;
      rest -= view.inner;
      ++outer;
    }
    product = BlockSum(product);
    sum = BlockSum(sum);
    if (threadIdx.x != 0) continue;
    if (dgamma != nullptr) dgamma[c] = FromFloat<T>(static_cast<float>(product));
    if (dbeta != nullptr) dbeta[c] = FromFloat<T>(static_cast<float>(sum));
  }
}

template <bool kNegativeOnly>
void RunForward(const ScaleView& view, DType type, const void* x, const void* sign,
                const float* gamma, const float* beta, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const ItemGroups groups = GroupsOf(view.outer, view.channels * view.inner);
    const Forward<T, kNegativeOnly> f = {FastDivide(static_cast<uint32_t>(view.channels)),
                                         FastDivide(static_cast<uint32_t>(view.inner)),
                                         static_cast<const T*>(x),
                                         static_cast<const T*>(sign),
                                         gamma,
                                         beta,
                                         static_cast<T*>(y)};
    ForItems(groups, f, stream);
  });
}

template <bool kNegativeOnly>
void RunSums(const ScaleView& view, DType type, const void* x, const void* dy, void* dgamma,
             void* dbeta, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const int blocks = static_cast<int>(std::min<int64_t>(view.channels, 1 << 16));
    // Dividends are below 2^31, so longer parts may be treated as parts of that length.
    const FastDivide inner(static_cast<uint32_t>(std::min(view.inner, int64_t{1} << 31)));
    Launch({blocks, kThreads, stream}, Sums<T, kNegativeOnly>, view, inner,
           static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dgamma),
           static_cast<T*>(dbeta));
  });
}

}  // namespace

void ScaleForward(const ScaleView& view, DType type, const void* x, const float* gamma,
                  const float* beta, void* y, cudaStream_t stream) {
  RunForward<false>(view, type, x, x, gamma, beta, y, stream);
}

void ScaleGradient(const ScaleView& view, DType type, const void* x, const void* dy,
                   const float* gamma, void* dgamma, void* dbeta, void* dx, cudaStream_t stream) {
  // Without gamma nobody wants the products.
  RunSums<false>(view, type, gamma != nullptr ? x : dy, dy, dgamma, dbeta, stream);
  if (dx == nullptr || (gamma == nullptr && dx == dy)) return;
  RunForward<false>(view, type, dy, dy, gamma, nullptr, dx, stream);
}

void PreluForward(const ScaleView& view, DType type, const void* x, const float* gamma, void* y,
                  cudaStream_t stream) {
  RunForward<true>(view, type, x, x, gamma, nullptr, y, stream);
}

void PreluGradient(const ScaleView& view, DType type, const void* x, const void* dy,
                   const float* gamma, void* dgamma, void* dx, cudaStream_t stream) {
  RunSums<true>(view, type, x, dy, dgamma, nullptr, stream);
  if (dx != nullptr) RunForward<true>(view, type, dy, x, gamma, nullptr, dx, stream);
}

}  // namespace gf

#include "core/cuda/block_sums_inline.h"
#include "core/cuda/items_inline.h"
#include "layers/cuda/scale_by_kernels.h"

namespace gf {
namespace {

// Rows of items are the outer parts of the view, or the images.
template <typename T>
struct Forward {
  FastDivide units, inner;
  bool channels_last, adds;
  const T *x, *factor, *addend;
  T* y;

  __device__ void Run(int64_t first, uint32_t item) const {
    int64_t at;
    if (channels_last) {
      const FastDivide::Result pixel = units.Divide(item);
      at = (first + inner.Quotient(pixel.quotient)) * units.divisor() + pixel.remainder;
    } else {
      at = units.Divide(inner.Quotient(item)).remainder;
    }
    const int64_t i = first * units.divisor() * inner.divisor() + item;
    const float own = ToFloat(factor[at]), value = ToFloat(x[i]);
    const float result = adds ? own + value : own * value;
    y[i] = FromFloat<T>(addend != nullptr ? result + ToFloat(addend[i]) : result);
  }
};

// What element i adds to the gradient of its factor.
template <typename T>
__device__ float FactorGradient(const ScaleByView& view, const T* x, const T* dy, int64_t i) {
  const float gradient = ToFloat(dy[i]);
  return view.adds ? gradient : gradient * ToFloat(x[i]);
}

// One block per unit. A thread advances by blockDim.x elements of the unit: some outer parts and
// `step.remainder` inner elements.
template <typename T>
__global__ void UnitSums(ScaleByView view, FastDivide inner, const T* x, const T* dy, T* dfactor) {
  const FastDivide::Result begin = inner.Divide(threadIdx.x), step = inner.Divide(blockDim.x);
  for (int64_t u = blockIdx.x; u < view.units; u += gridDim.x) {
    float sum = 0;
    int64_t outer = begin.quotient, rest = begin.remainder;
    while (outer < view.outer) {
      sum += FactorGradient(view, x, dy, (outer * view.units + u) * view.inner + rest);
      outer += step.quotient;
      rest += step.remainder;
      if (rest < view.inner) continue;
      rest -= view.inner;
      ++outer;
    }
    sum = BlockSum(sum);
    if (threadIdx.x == 0) dfactor[u] = FromFloat<T>(sum);
  }
}

constexpr unsigned kColumns = 32;  // channels of a block

// Channels last. A block has kColumns channels of an image; its rows of threads share the pixels.
template <typename T>
__global__ void PlaneSums(ScaleByView view, const T* x, const T* dy, T* dfactor) {
  __shared__ float sums[kThreads / kColumns][kColumns];
  const int64_t channel = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  for (int64_t image = blockIdx.y; image < view.outer; image += gridDim.y) {
    float sum = 0;
    if (channel < view.units) {
      for (int64_t pixel = threadIdx.y; pixel < view.inner; pixel += blockDim.y) {
        sum += FactorGradient(view, x, dy, (image * view.inner + pixel) * view.units + channel);
      }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && channel < view.units) {
      for (unsigned y = 1; y < blockDim.y; ++y) sum += sums[y][threadIdx.x];
      dfactor[image * view.units + channel] = FromFloat<T>(sum);
    }
    __syncthreads();
  }
}

}  // namespace

void ScaleByForward(const ScaleByView& view, DType type, const void* x, const void* factor,
                    const void* addend, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const ItemGroups groups = GroupsOf(view.outer, view.units * view.inner);
    const Forward<T> f = {FastDivide(static_cast<uint32_t>(view.units)),
                          FastDivide(static_cast<uint32_t>(view.inner)),
                          view.channels_last,
                          view.adds,
                          static_cast<const T*>(x),
                          static_cast<const T*>(factor),
                          static_cast<const T*>(addend),
                          static_cast<T*>(y)};
    ForItems(groups, f, stream);
  });
}

void ScaleByFactorGradient(const ScaleByView& view, DType type, const void* x, const void* dy,
                           void* dfactor, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const T *values = static_cast<const T*>(x), *gradient = static_cast<const T*>(dy);
    constexpr int64_t kMostBlocks = 1 << 15;
    if (view.channels_last) {
      const dim3 blocks(static_cast<unsigned>((view.units + kColumns - 1) / kColumns),
                        static_cast<unsigned>(std::min(view.outer, kMostBlocks)));
      Launch({blocks, dim3(kColumns, kThreads / kColumns), stream}, PlaneSums<T>, view, values,
             gradient, static_cast<T*>(dfactor));
    } else {
      const int blocks = static_cast<int>(std::min(view.units, kMostBlocks));
      // Dividends are below 2^31, so longer parts may be treated as parts of that length.
      const FastDivide inner(static_cast<uint32_t>(std::min(view.inner, int64_t{1} << 31)));
      Launch({blocks, kThreads, stream}, UnitSums<T>, view, inner, values, gradient,
             static_cast<T*>(dfactor));
    }
  });
}

}  // namespace gf

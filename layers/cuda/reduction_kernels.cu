#include "core/cuda/block_sums_inline.h"
#include "core/cuda/items_inline.h"
#include "layers/cuda/reduction_kernels.h"

namespace gf {
namespace {

template <typename T>
__device__ void StoreResult(const Reduction& call, double sum, int64_t row, void* y) {
  const float result = static_cast<float>(call.factor * sum);
  if (call.fp32_results) {
    static_cast<float*>(y)[row] = result;
  } else {
    static_cast<T*>(y)[row] = FromFloat<T>(result);
  }
}

// A block per part of a row.
template <typename T>
__global__ void PartSums(Reduction call, const T* x, double* sums, void* y) {
  for (int64_t i = blockIdx.x; i < call.rows * call.parts; i += gridDim.x) {
    const int64_t row = i / call.parts, begin = i % call.parts * call.part;
    const int64_t end = min(call.inner, begin + call.part);
    double sum = 0;
    for (int64_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
      const double value = ToFloat(x[row * call.inner + k]);
      sum += call.squared ? value * value : call.absolute ? fabs(value) : value;
    }
    sum = BlockSum(sum);
    if (threadIdx.x != 0) continue;
    if (call.parts == 1) {
      StoreResult<T>(call, sum, row, y);
    } else {
      sums[i] = sum;
    }
  }
}

// A block per row.
template <typename T>
__global__ void RowSums(Reduction call, const double* sums, void* y) {
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    double sum = 0;
    for (int64_t k = threadIdx.x; k < call.parts; k += blockDim.x) {
      sum += sums[row * call.parts + k];
    }
    sum = BlockSum(sum);
    if (threadIdx.x == 0) StoreResult<T>(call, sum, row, y);
  }
}

// Rows of items are the rows of the tensor.
template <typename T>
struct Gradient {
  Reduction call;
  FastDivide inner;
  const T* x;
  const void* dy;
  float own, factor;
  T* dx;

  __device__ float OfRow(int64_t row) const {
    if (dy == nullptr) return own;
    return own + (call.fp32_results ? static_cast<const float*>(dy)[row]
                                    : ToFloat(static_cast<const T*>(dy)[row]));
  }
  __device__ void Run(int64_t first, uint32_t item) const {
    const int64_t i = first * inner.divisor() + item;
    float gradient = factor * OfRow(first + inner.Quotient(item));
    if (call.squared) {
      gradient *= 2 * ToFloat(x[i]);
    } else if (call.absolute) {
      const float value = ToFloat(x[i]);
      gradient *= static_cast<float>((value > 0) - (value < 0));
    }
    dx[i] = FromFloat<T>(gradient);
  }
};

int Blocks(int64_t count) { return static_cast<int>(std::min<int64_t>(count, 1 << 16)); }

}  // namespace

void ReduceRows(const Reduction& call, const void* x, double* sums, void* y, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    Launch({Blocks(call.rows * call.parts), kThreads, stream}, PartSums<T>, call,
           static_cast<const T*>(x), sums, y);
    if (call.parts == 1) return;
    Launch({Blocks(call.rows), kThreads, stream}, RowSums<T>, call, sums, y);
  });
}

void ReductionGradient(const Reduction& call, const void* x, const void* dy, float own, void* dx,
                       cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const Gradient<T> f = {call,
                           FastDivide(static_cast<uint32_t>(call.inner)),
                           static_cast<const T*>(x),
                           dy,
                           own,
                           static_cast<float>(call.factor),
                           static_cast<T*>(dx)};
    ForItems(GroupsOf(call.rows, call.inner), f, stream);
  });
}

}  // namespace gf

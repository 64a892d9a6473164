#include "comm/nccl/add_kernels.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

template <typename T>
struct Add {
  const T* from;
  T* to;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> x = LoadFloats<kCount>(from + i);
    Floats<kCount> sum = LoadFloats<kCount>(to + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum.v[k] += x.v[k];
    StoreFloats(to + i, sum);
  }
};

}  // namespace

void AddElements(DType type, const void* from, void* to, int64_t count, cudaStream_t stream) {
  WithType(type, [&](auto number) {
    using T = decltype(number);
    const Add<T> add = {static_cast<const T*>(from), static_cast<T*>(to)};
    ElementwiseFrom(count, add, stream, add.from, add.to);
  });
}

}  // namespace gf

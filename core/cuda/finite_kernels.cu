#include "core/cuda/finite_kernels.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

template <typename T>
struct Check {
  const T* data;
  int* bad;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> v = LoadFloats<kCount>(data + i);
    bool finite = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) finite = finite && isfinite(v.v[k]);
    if (!finite) atomicExch(bad, 1);
  }
};

}  // namespace

void FindNotFinite(DType type, const void* data, int64_t count, int* bad, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Check<T> check = {static_cast<const T*>(data), bad};
    ElementwiseFrom(count, check, stream, check.data);
  });
}

}  // namespace gf

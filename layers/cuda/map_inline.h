#pragma once

#include "core/cuda/launch_inline.h"

namespace gf {

// to[i] = f(a[i], b[i])
template <typename T, typename F>
struct Map {
  const T* a;
  const T* b;
  T* to;
  F f;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Floats<kCount> x = LoadFloats<kCount>(a + i), y = LoadFloats<kCount>(b + i);
    Floats<kCount> z;
#pragma unroll
    for (int k = 0; k < kCount; ++k) z.v[k] = f(x.v[k], y.v[k]);
    StoreFloats(to + i, z);
  }
};

// Maps `count` elements of arrays of one number type, aligned to 16 bytes; `to` may be `a` or `b`.
template <typename F>
void RunMap(DType type, const void* a, const void* b, void* to, const F& f, int64_t count,
            cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Map<T, F> map = {static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(to),
                           f};
    Elementwise<kPack<T>>(count, map, stream);
  });
}

}  // namespace gf

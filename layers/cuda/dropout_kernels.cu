#include "core/cuda/launch_inline.h"
#include "layers/cuda/dropout_kernels.h"
#include "layers/draws_inline.h"

namespace gf {
namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  uint8_t* keep;
  float scale;
  KeepDraws draws;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> v = LoadFloats<kCount>(x + i);
    Pack<uint8_t, kCount> kept;
    if constexpr (kCount == 1) {
      kept.v[0] = Keeps(draws, i);
    } else {
#pragma unroll
      for (int k = 0; k < kCount; k += 4) {
        const auto four = Philox(draws.key, draws.stream, (i + k) / 4);
#pragma unroll
        for (int w = 0; w < 4; ++w) kept.v[k + w] = four[w] >> 8 >= draws.threshold;
      }
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.v[k] = kept.v[k] ? scale * v.v[k] : 0;
    *reinterpret_cast<Pack<uint8_t, kCount>*>(keep + i) = kept;
    StoreFloats(y + i, v);
  }
};

template <typename T>
struct Backward {
  const T* dy;
  const uint8_t* keep;
  T* dx;
  float scale;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> v = LoadFloats<kCount>(dy + i);
    const auto kept = *reinterpret_cast<const Pack<uint8_t, kCount>*>(keep + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.v[k] = kept.v[k] ? scale * v.v[k] : 0;
    StoreFloats(dx + i, v);
  }
};

}  // namespace

void Dropout(DType type, const void* x, void* y, uint8_t* keep, float scale, const KeepDraws& draws,
             int64_t count, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Forward<T> f = {static_cast<const T*>(x), static_cast<T*>(y), keep, scale, draws};
    Elementwise<kPack<T>>(count, f, stream);
  });
}

void DropoutGradient(DType type, const void* dy, const uint8_t* keep, void* dx, float scale,
                     int64_t count, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Backward<T> f = {static_cast<const T*>(dy), keep, static_cast<T*>(dx), scale};
    Elementwise<kPack<T>>(count, f, stream);
  });
}

}  // namespace gf

#include "core/cuda/launch_inline.h"
#include "core/random.h"
#include "layers/cuda/random_kernels.h"

namespace gf {
namespace {

template <typename T>
struct Uniform {
  T* data;
  uint64_t stream_id;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> v;
    if constexpr (kCount == 1) {
      v.v[0] = Number(Philox(0, stream_id, i / 4)[i % 4]);
    } else {
#pragma unroll
      for (int k = 0; k < kCount; k += 4) {
        const auto four = Philox(0, stream_id, (i + k) / 4);
#pragma unroll
        for (int w = 0; w < 4; ++w) v.v[k + w] = Number(four[w]);
      }
    }
    StoreFloats(data + i, v);
  }

 private:
  // Has 24 bits, so it is exact in FP32.
  __device__ static float Number(uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-23f - 1;
  }
};

}  // namespace

void FillUniform(DType type, void* data, int64_t count, uint64_t stream_id, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Elementwise<kPack<T>>(count, Uniform<T>{static_cast<T*>(data), stream_id}, stream);
  });
}

}  // namespace gf

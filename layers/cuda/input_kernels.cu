#include "core/cuda/launch_inline.h"
#include "layers/cuda/input_kernels.h"

namespace gf {
namespace {

template <typename T>
struct NormaliseRun {
  const uint8_t* x;
  int channels;
  const float* mean;
  const float* inverse_std;
  T* y;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const auto in = *reinterpret_cast<const Pack<uint8_t, kCount>*>(x + i);
    int c = static_cast<int>(i % channels);
    Floats<kCount> v;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = (in.v[k] - mean[c]) * inverse_std[c];
      c = c + 1 == channels ? 0 : c + 1;
    }
    StoreFloats(y + i, v);
  }
};

}  // namespace

void NormaliseImages(const uint8_t* x, int64_t pixels, int channels, const float* mean,
                     const float* inverse_std, DType type, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const NormaliseRun<T> f = {x, channels, mean, inverse_std, static_cast<T*>(y)};
    Elementwise<kPack<T>>(pixels * channels, f, stream);
  });
}

}  // namespace gf

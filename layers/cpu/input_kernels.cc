#include "layers/cpu/input_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

template <typename T>
void Normalize(const uint8_t* from, int64_t pixels, int channels, bool mirrored, const float* mean,
               const float* inverse_std, int64_t plane, T* to) {
  for (int c = 0; c < channels; ++c) {
    const float m = mean[c], s = inverse_std[c];
    T* out = to + c * plane;
    if (mirrored) {
      const uint8_t* last = from + (pixels - 1) * channels + c;
      for (int64_t i = 0; i < pixels; ++i) Store(out + i, (last[-i * channels] - m) * s);
    } else if (channels == 3) {  // a constant stride is vectorized
#pragma omp simd
      for (int64_t i = 0; i < pixels; ++i) Store(out + i, (from[i * 3 + c] - m) * s);
    } else {
      for (int64_t i = 0; i < pixels; ++i) Store(out + i, (from[i * channels + c] - m) * s);
    }
  }
}

template <typename T>
void Mix(T* own, const T* other, int64_t count, float share) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    Store(own + i, share * Load(own + i) + (1 - share) * Load(other + i));
  }
}

}  // namespace

GF_SIMD_DEFINE(InputKernels, InputTable) = {&Normalize<float>, &Normalize<uint16_t>, &Mix<float>,
                                            &Mix<uint16_t>};

}  // namespace gf

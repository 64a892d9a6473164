#include "layers/cpu/input_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

template <typename T>
void Normalise(const uint8_t* from, int64_t pixels, int channels, const float* mean,
               const float* inverse_std, T* to) {
  for (int c = 0; c < channels; ++c) {
    const float m = mean[c], s = inverse_std[c];
    T* plane = to + c * pixels;
    if (channels == 3) {  // a constant stride is vectorised
#pragma omp simd
      for (int64_t i = 0; i < pixels; ++i) Store(plane + i, (from[i * 3 + c] - m) * s);
    } else {
      for (int64_t i = 0; i < pixels; ++i) Store(plane + i, (from[i * channels + c] - m) * s);
    }
  }
}

}  // namespace

GF_SIMD_DEFINE(InputKernels, InputTable) = {&Normalise<float>, &Normalise<uint16_t>};

}  // namespace gf

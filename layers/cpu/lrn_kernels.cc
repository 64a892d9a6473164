#include "layers/cpu/lrn_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// out = the sum over the size x size window around each element; elements outside count as 0.
// `rows` is scratch memory for sums along rows.
inline void WindowSum(const LrnWindow& window, const float* in, float* rows, float* out) {
  const int64_t h = window.height, w = window.width, reach = window.size / 2;
  for (int64_t i = 0; i < h * w; ++i) rows[i] = out[i] = 0;
  for (int64_t shift = -reach; shift <= reach; ++shift) {
    const int64_t begin = shift < 0 ? -shift : 0, end = shift > 0 ? w - shift : w;
    for (int64_t y = 0; y < h; ++y) {
#pragma omp simd
      for (int64_t x = begin; x < end; ++x) rows[y * w + x] += in[y * w + x + shift];
    }
  }
  for (int64_t shift = -reach; shift <= reach; ++shift) {
    const int64_t begin = shift < 0 ? -shift : 0, end = shift > 0 ? h - shift : h;
#pragma omp simd
    for (int64_t i = begin * w; i < end * w; ++i) out[i] += rows[i + shift * w];
  }
}

// out = scale^-beta
inline void Power(const float* scale, float beta, int64_t n, float* out) {
  if (beta == 0.75f) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float root = __builtin_sqrtf(scale[i]);
      out[i] = 1.f / (root * __builtin_sqrtf(root));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = __builtin_powf(scale[i], -beta);
  }
}

template <typename T>
void Forward(const LrnWindow& window, const void* x_data, void* y_data, float* scale,
             float* scratch) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const int64_t n = window.height * window.width;
  float *squares = scratch, *rows = scratch + n;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) squares[i] = Load(x + i) * Load(x + i);
  WindowSum(window, squares, rows, scale);
  const float factor = window.alpha / static_cast<float>(window.size * window.size);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) scale[i] = 1.f + factor * scale[i];
  float* power = scratch;
  Power(scale, window.beta, n, power);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) Store(y + i, Load(x + i) * power[i]);
}

template <typename T>
void Backward(const LrnWindow& window, const void* x_data, const void* dy_data, const float* scale,
              void* dx_data, float* scratch) {
  const T* x = static_cast<const T*>(x_data);
  const T* dy = static_cast<const T*>(dy_data);
  T* dx = static_cast<T*>(dx_data);
  const int64_t n = window.height * window.width;
  float *power = scratch, *ratio = scratch + n, *rows = scratch + 2 * n, *sums = scratch + 3 * n;
  Power(scale, window.beta, n, power);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) ratio[i] = Load(dy + i) * Load(x + i) * power[i] / scale[i];
  WindowSum(window, ratio, rows, sums);
  const float factor =
      2.f * window.alpha * window.beta / static_cast<float>(window.size * window.size);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    Store(dx + i, Load(dy + i) * power[i] - factor * Load(x + i) * sums[i]);
  }
}

}  // namespace

GF_SIMD_DEFINE(LrnKernels, Lrn) = {{&Forward<float>, &Backward<float>},
                                   {&Forward<uint16_t>, &Backward<uint16_t>}};

}  // namespace gf

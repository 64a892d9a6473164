#include "layers/cpu/scale_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// gamma, or 1 where it belongs to negative numbers only and x is none.
template <bool kNegativeOnly>
inline float Factor(float gamma, float x) {
  return kNegativeOnly && !(x < 0) ? 1.f : gamma;
}

template <typename T, bool kNegativeOnly>
void Forward(const void* x_data, void* y_data, const float* gamma, const float* beta,
             int64_t spatial, int64_t block) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  if (block == 1) {
    const float scale = gamma[0], shift = beta[0];
#pragma omp simd
    for (int64_t s = 0; s < spatial; ++s) {
      const float value = Load(x + s);
      Store(y + s, Factor<kNegativeOnly>(scale, value) * value + shift);
    }
    return;
  }
  for (int64_t s = 0; s < spatial; ++s) {
#pragma omp simd
    for (int64_t l = 0; l < block; ++l) {
      const float value = Load(x + s * block + l);
      Store(y + s * block + l, Factor<kNegativeOnly>(gamma[l], value) * value + beta[l]);
    }
  }
}

template <typename T>
void ForwardAdd(const void* x_data, const void* addend_data, void* y_data, const float* gamma,
                int64_t spatial, int64_t block) {
  const T *x = static_cast<const T*>(x_data), *addend = static_cast<const T*>(addend_data);
  T* y = static_cast<T*>(y_data);
  if (block == 1) {
    const float scale = gamma[0];
#pragma omp simd
    for (int64_t s = 0; s < spatial; ++s) Store(y + s, scale * Load(x + s) + Load(addend + s));
    return;
  }
  for (int64_t at = 0; at < spatial * block; at += block) {
#pragma omp simd
    for (int64_t l = 0; l < block; ++l) {
      Store(y + at + l, gamma[l] * Load(x + at + l) + Load(addend + at + l));
    }
  }
}

// Sums within a row in FP32, sums over the rows in double.
template <typename T, bool kNegativeOnly>
void Backward(const void* x_data, const void* dy_data, void* dx_data, const float* gamma,
              int64_t rows, int64_t row_stride, int64_t spatial, int64_t block, int lanes,
              double* dgamma, double* dbeta) {
  for (int l = 0; l < lanes; ++l) dgamma[l] = dbeta[l] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(x_data) + r * row_stride;
    const T* dy = static_cast<const T*>(dy_data) + r * row_stride;
    T* dx = dx_data == nullptr ? nullptr : static_cast<T*>(dx_data) + r * row_stride;
    if (block == 1) {
      float product = 0, sum = 0;
#pragma omp simd reduction(+ : product, sum)
      for (int64_t s = 0; s < spatial; ++s) {
        const float value = Load(x + s);
        product += kNegativeOnly && !(value < 0) ? 0.f : Load(dy + s) * value;
        sum += Load(dy + s);
      }
      dgamma[0] += product;
      dbeta[0] += sum;
      if (dx != nullptr) {
        const float scale = gamma[0];
#pragma omp simd
        for (int64_t s = 0; s < spatial; ++s) {
          Store(dx + s, Factor<kNegativeOnly>(scale, Load(x + s)) * Load(dy + s));
        }
      }
      continue;
    }
    float product[kScaleLanes] = {}, sum[kScaleLanes] = {};
    for (int64_t s = 0; s < spatial; ++s) {
      const int64_t at = s * block;
#pragma omp simd
      for (int l = 0; l < lanes; ++l) {
        const float value = Load(x + at + l);
        product[l] += kNegativeOnly && !(value < 0) ? 0.f : Load(dy + at + l) * value;
        sum[l] += Load(dy + at + l);
      }
      if (dx != nullptr) {
#pragma omp simd
        for (int l = 0; l < lanes; ++l) {
          Store(dx + at + l, Factor<kNegativeOnly>(gamma[l], Load(x + at + l)) * Load(dy + at + l));
        }
      }
    }
    for (int l = 0; l < lanes; ++l) {
      dgamma[l] += product[l];
      dbeta[l] += sum[l];
    }
  }
}

}  // namespace

GF_SIMD_DEFINE(ScaleKernels, Scale) = {
    {&Forward<float, false>, &ForwardAdd<float>, &Backward<float, false>},
    {&Forward<uint16_t, false>, &ForwardAdd<uint16_t>, &Backward<uint16_t, false>}};
GF_SIMD_DEFINE(ScaleKernels, Prelu) = {
    {&Forward<float, true>, nullptr, &Backward<float, true>},
    {&Forward<uint16_t, true>, nullptr, &Backward<uint16_t, true>}};

}  // namespace gf

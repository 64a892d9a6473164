#include "layers/cpu/relu_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// NaN stays NaN. Slope 0 has a separate loop because 0 * -inf would be NaN.
template <typename T>
void Forward(const void* x_data, void* y_data, float slope, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  if (slope == 0) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float value = Load(x + i);
      Store(y + i, value < 0 ? 0.f : value);
    }
  } else {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float value = Load(x + i);
      Store(y + i, value < 0 ? slope * value : value);
    }
  }
}

template <typename T>
void Backward(const void* dy_data, const void* sign_data, void* dx_data, float slope, int64_t begin,
              int64_t end) {
  const T* dy = static_cast<const T*>(dy_data);
  const T* sign = static_cast<const T*>(sign_data);
  T* dx = static_cast<T*>(dx_data);
  if (slope == 0) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) Store(dx + i, Load(sign + i) > 0 ? Load(dy + i) : 0.f);
  } else {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float gradient = Load(dy + i);
      Store(dx + i, Load(sign + i) > 0 ? gradient : slope * gradient);
    }
  }
}

void MaskFp32(const float* y, float* diff, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) diff[i] = y[i] > 0 ? diff[i] : 0.f;
}

// A BF16 number is positive exactly if its bits, read as a signed integer, are positive.
void MaskBf16(const uint16_t* y, uint16_t* diff, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    diff[i] = static_cast<int16_t>(y[i]) > 0 ? diff[i] : uint16_t{0};
  }
}

}  // namespace

GF_SIMD_DEFINE(ReluKernels, Relu) = {{&Forward<float>, &Backward<float>},
                                     {&Forward<uint16_t>, &Backward<uint16_t>}};
GF_SIMD_DEFINE(ReluMaskKernels, ReluMask) = {&MaskFp32, &MaskBf16};

}  // namespace gf

#include "layers/cpu/gelu_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// Note [GELU's polynomials]
// Phi(x) - 1/2 and GELU'(x) - 1/2 are odd functions, here x * p(u) with u = 2 (x / 5.5)^2 - 1 and a
// polynomial p, fitted for |x| <= 5.5 such that the largest absolute error of GELU or of its slope
// is smallest. Farther from zero, Phi and the slope keep their values at 5.5, and GELU is 0 below.
// Rounding included, GELU's error is at most 3e-7 times max(1, |x|), and its slope's is 5e-7: a few
// units in the last place of 1, in a third of the instructions of an exponential and a division.
constexpr float kMost = 5.5f;
constexpr int kCoefficients = 16;
constexpr float kPhi[kCoefficients] = {
    0.128551932f,    -0.0641723472f,   0.0477374977f,   -0.0387923688f,
    0.0320726878f,   -0.0260538772f,   0.0203478219f,   -0.0149667602f,
    0.0102819076f,   -0.00691293103f,  0.00453335064f,  -0.00227819887f,
    0.000790967008f, -0.000635307724f, 0.000609478661f, -0.000204765554f};
constexpr float kSlope[kCoefficients] = {
    0.128759165f,  -0.0657401204f,  0.0536712101f, -0.0537268027f, 0.0601807697f, -0.0688436695f,
    0.075380734f,  -0.0729989592f,  0.0605056715f, -0.0528513453f, 0.0498194527f, -0.0281879661f,
    0.0038923324f, -0.00614146608f, 0.0121870709f, -0.0049969183f};

// 1/2 + x * p(u). NaN stays NaN.
inline __attribute__((always_inline)) float OddPlusHalf(const float* coefficients, float x) {
  const float low = x < -kMost ? -kMost : x, inside = low > kMost ? kMost : low;
  const float u = inside * inside * (2 / (kMost * kMost)) - 1;
  float p = coefficients[kCoefficients - 1];
#pragma GCC unroll 16
  for (int i = kCoefficients - 2; i >= 0; --i) p = p * u + coefficients[i];
  return inside * p + 0.5f;
}

template <typename T>
void Forward(const void* x_data, void* y_data, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float value = Load(x + i), result = value * OddPlusHalf(kPhi, value);
    Store(y + i, value < -kMost ? 0.f : result);
  }
}

template <typename T>
void Backward(const void* x_data, const void* dy_data, void* dx_data, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(x_data);
  const T* dy = static_cast<const T*>(dy_data);
  T* dx = static_cast<T*>(dx_data);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    Store(dx + i, Load(dy + i) * OddPlusHalf(kSlope, Load(x + i)));
  }
}

}  // namespace

GF_SIMD_DEFINE(GeluKernels, GeluTable) = {{&Forward<float>, &Backward<float>},
                                          {&Forward<uint16_t>, &Backward<uint16_t>}};

}  // namespace gf

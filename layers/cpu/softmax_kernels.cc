#include "layers/cpu/softmax_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// exp(x) for x <= 0, accurate to 2 units in the last place; 0 if the result would be subnormal, NaN
// for NaN. The argument is reduced to |r| <= log(2) / 2, where the Taylor polynomial of degree 7
// has a relative error of 5e-9. There is only one condition, so that loops vectorize.
inline __attribute__((always_inline)) float ExpNegative(float x) {
  const float z = x < -88.f ? -88.f : x;
  const int n = static_cast<int>(z * 1.44269504f - 0.5f);
  const float shift = static_cast<float>(n);
  // log(2) in two parts; the product with the upper part is exact.
  const float r = (z - shift * 0.693359375f) + shift * 2.12194440e-4f;
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.f;
  p = p * r + 1.f;
  // Exponent bits of 0 make the power 0, at n = -127.
  const uint32_t bits = (static_cast<uint32_t>(n) + 127u) << 23;
  float power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return p * power;
}

// One softmax over contiguous classes.
template <bool kWeighted, typename T>
void RowSums(int64_t classes, const T* x, const float* weights, SoftmaxSums* sums) {
  float max = Load(x);
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < classes; ++c) max = Load(x + c) > max ? Load(x + c) : max;
  // Sums partial sums, because the rounding error of one long sum would grow with the number of
  // classes.
  constexpr int64_t kBlock = 128;
  float sum = 0, deficit = 0;
  for (int64_t begin = 0; begin < classes; begin += kBlock) {
    const int64_t end = begin + kBlock < classes ? begin + kBlock : classes;
    float block_sum = 0, block_deficit = 0;
#pragma omp simd reduction(+ : block_sum, block_deficit)
    for (int64_t c = begin; c < end; ++c) {
      const float below = Load(x + c) - max;
      block_sum += ExpNegative(below);
      block_deficit -= kWeighted ? weights[c] * below : below;
    }
    sum += block_sum;
    deficit += block_deficit;
  }
  sums->max[0] = max;
  sums->sum[0] = sum;
  sums->deficit[0] = deficit;
}

template <bool kWeighted, typename T>
void SumsOf(const SoftmaxSpan& span, const T* x, const float* weights, SoftmaxSums* sums) {
  if (span.stride == 1) return RowSums<kWeighted>(span.classes, x, weights, sums);
  for (int j = 0; j < span.width; ++j) {
    sums->max[j] = Load(x + j);
    sums->sum[j] = sums->deficit[j] = 0;
  }
  for (int64_t c = 1; c < span.classes; ++c) {
    const T* row = x + c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      const float value = Load(row + j);
      sums->max[j] = value > sums->max[j] ? value : sums->max[j];
    }
  }
  for (int64_t c = 0; c < span.classes; ++c) {
    const T* row = x + c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      const float below = Load(row + j) - sums->max[j];
      sums->sum[j] += ExpNegative(below);
      sums->deficit[j] -= kWeighted ? weights[c] * below : below;
    }
  }
}

template <typename T>
void Sums(const SoftmaxSpan& span, const void* x_data, const float* weights, SoftmaxSums* sums) {
  const T* x = static_cast<const T*>(x_data);
  if (weights == nullptr) return SumsOf<false>(span, x, weights, sums);
  SumsOf<true>(span, x, weights, sums);
}

template <typename T, typename U>
inline void NormalizeTo(const SoftmaxSpan& span, const T* x, const SoftmaxSums& sums, U* y) {
  if (span.stride == 1) {
    const float max = sums.max[0], inverse = 1.f / sums.sum[0];
#pragma omp simd
    for (int64_t c = 0; c < span.classes; ++c) {
      Store(y + c, ExpNegative(Load(x + c) - max) * inverse);
    }
    return;
  }
  for (int64_t c = 0; c < span.classes; ++c) {
    const int64_t at = c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      Store(y + at + j, ExpNegative(Load(x + at + j) - sums.max[j]) / sums.sum[j]);
    }
  }
}

template <typename T>
void Normalize(const SoftmaxSpan& span, const void* x, const SoftmaxSums& sums, void* y) {
  NormalizeTo(span, static_cast<const T*>(x), sums, static_cast<T*>(y));
}

template <typename T>
void NormalizeFp32(const SoftmaxSpan& span, const void* x, const SoftmaxSums& sums, float* y) {
  NormalizeTo(span, static_cast<const T*>(x), sums, y);
}

template <typename T>
void Backward(const SoftmaxSpan& span, const void* y_data, const void* dy_data, void* dx_data) {
  const T* y = static_cast<const T*>(y_data);
  const T* dy = static_cast<const T*>(dy_data);
  T* dx = static_cast<T*>(dx_data);
  if (span.stride == 1) {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t c = 0; c < span.classes; ++c) dot += Load(y + c) * Load(dy + c);
#pragma omp simd
    for (int64_t c = 0; c < span.classes; ++c) {
      Store(dx + c, Load(y + c) * (Load(dy + c) - dot));
    }
    return;
  }
  float dots[kSoftmaxWidth] = {};
  for (int64_t c = 0; c < span.classes; ++c) {
    const int64_t at = c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) dots[j] += Load(y + at + j) * Load(dy + at + j);
  }
  for (int64_t c = 0; c < span.classes; ++c) {
    const int64_t at = c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      Store(dx + at + j, Load(y + at + j) * (Load(dy + at + j) - dots[j]));
    }
  }
}

template <typename T>
void LossBackward(const SoftmaxSpan& span, const float* p, const float* factor, float target,
                  void* dx_data) {
  T* dx = static_cast<T*>(dx_data);
  if (span.stride == 1) {
    const float scale = factor[0];
#pragma omp simd
    for (int64_t c = 0; c < span.classes; ++c) Store(dx + c, scale * (p[c] - target));
    return;
  }
  for (int64_t c = 0; c < span.classes; ++c) {
    const int64_t at = c * span.stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) Store(dx + at + j, factor[j] * (p[at + j] - target));
  }
}

template <typename T>
void WeightedLossBackward(const SoftmaxSpan& span, const float* p, const float* factor,
                          const float* target, const float* weights, void* dx_data) {
  T* dx = static_cast<T*>(dx_data);
  if (span.stride == 1) {
    const float scale = factor[0], share = target[0];
#pragma omp simd
    for (int64_t c = 0; c < span.classes; ++c) Store(dx + c, scale * p[c] - share * weights[c]);
    return;
  }
  for (int64_t c = 0; c < span.classes; ++c) {
    const int64_t at = c * span.stride;
    const float weight = weights[c];
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      Store(dx + at + j, factor[j] * p[at + j] - target[j] * weight);
    }
  }
}

template <typename T>
constexpr SoftmaxFunctions Functions() {
  return {&Sums<T>,     &Normalize<T>,    &NormalizeFp32<T>,
          &Backward<T>, &LossBackward<T>, &WeightedLossBackward<T>};
}

}  // namespace

GF_SIMD_DEFINE(SoftmaxKernels, Softmax) = {Functions<float>(), Functions<uint16_t>()};

}  // namespace gf

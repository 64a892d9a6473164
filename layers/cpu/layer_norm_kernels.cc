#include "layers/cpu/layer_norm_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

// Numbers whose sum is FP32.
constexpr int64_t kAtOnce = 128;

inline int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }

// The sum of term(c) over the channels of one row.
template <typename F>
inline double SumOf(int64_t channels, const F& term) {
  double total = 0;
  for (int64_t begin = 0; begin < channels; begin += kAtOnce) {
    const int64_t end = Min(begin + kAtOnce, channels);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = begin; c < end; ++c) sum += term(c);
    total += sum;
  }
  return total;
}

// The sums of term(c, j) over the channels of each row j.
template <typename F>
inline void SumsOf(const LayerNormSpan& span, const F& term, double* totals) {
  for (int j = 0; j < span.width; ++j) totals[j] = 0;
  for (int64_t begin = 0; begin < span.channels; begin += kAtOnce) {
    const int64_t end = Min(begin + kAtOnce, span.channels);
    float sums[kLayerNormWidth] = {};
    for (int64_t c = begin; c < end; ++c) {
#pragma omp simd
      for (int j = 0; j < span.width; ++j) sums[j] += term(c, j);
    }
    for (int j = 0; j < span.width; ++j) totals[j] += sums[j];
  }
}

template <typename T>
void Moments(const LayerNormSpan& span, const void* x_data, float* mean, float* variance) {
  const T* x = static_cast<const T*>(x_data);
  const double count = static_cast<double>(span.channels);
  if (span.stride == 1) {
    const float m =
        static_cast<float>(SumOf(span.channels, [=](int64_t c) { return Load(x + c); }) / count);
    const double squares =
        SumOf(span.channels, [=](int64_t c) { return (Load(x + c) - m) * (Load(x + c) - m); });
    mean[0] = m;
    variance[0] = static_cast<float>(squares / count);
    return;
  }
  const int64_t stride = span.stride;
  double sums[kLayerNormWidth];
  SumsOf(
      span, [=](int64_t c, int j) { return Load(x + c * stride + j); }, sums);
  for (int j = 0; j < span.width; ++j) mean[j] = static_cast<float>(sums[j] / count);
  SumsOf(
      span,
      [=](int64_t c, int j) {
        const float d = Load(x + c * stride + j) - mean[j];
        return d * d;
      },
      sums);
  for (int j = 0; j < span.width; ++j) variance[j] = static_cast<float>(sums[j] / count);
}

template <typename T>
void Normalize(const LayerNormSpan& span, const void* x_data, const float* mean,
               const float* inverse_std, const float* gamma, const float* beta, void* y_data) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  if (span.stride == 1) {
    const float m = mean[0], s = inverse_std[0];
#pragma omp simd
    for (int64_t c = 0; c < span.channels; ++c) {
      Store(y + c, (Load(x + c) - m) * s * gamma[c] + beta[c]);
    }
    return;
  }
  for (int64_t c = 0; c < span.channels; ++c) {
    const int64_t at = c * span.stride;
    const float scale = gamma[c], shift = beta[c];
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      Store(y + at + j, (Load(x + at + j) - mean[j]) * inverse_std[j] * scale + shift);
    }
  }
}

// With xhat = (x - mean) * inverse_std and g = dy * gamma:
//   dx = inverse_std * (g - mean(g) - xhat * mean(g * xhat))
template <typename T>
void BackwardRow(int64_t channels, const T* x, const T* dy, float mean, float inverse_std,
                 const float* gamma, float* dgamma, float* dbeta, T* dx) {
  const auto normalized = [=](int64_t c) { return (Load(x + c) - mean) * inverse_std; };
  if (dgamma != nullptr) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      dgamma[c] += Load(dy + c) * normalized(c);
      dbeta[c] += Load(dy + c);
    }
  }
  if (dx == nullptr) return;
  const double count = static_cast<double>(channels);
  const double sum = SumOf(channels, [=](int64_t c) { return Load(dy + c) * gamma[c]; });
  const double product =
      SumOf(channels, [=](int64_t c) { return Load(dy + c) * gamma[c] * normalized(c); });
  const float a = static_cast<float>(sum / count), b = static_cast<float>(product / count);
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    Store(dx + c, inverse_std * (Load(dy + c) * gamma[c] - a - normalized(c) * b));
  }
}

template <typename T>
void Backward(const LayerNormSpan& span, const void* x_data, const void* dy_data, const float* mean,
              const float* inverse_std, const float* gamma, float* dgamma, float* dbeta,
              void* dx_data) {
  const T *x = static_cast<const T*>(x_data), *dy = static_cast<const T*>(dy_data);
  T* dx = static_cast<T*>(dx_data);
  if (span.stride == 1) {
    return BackwardRow(span.channels, x, dy, mean[0], inverse_std[0], gamma, dgamma, dbeta, dx);
  }
  const int64_t stride = span.stride;
  const auto normalized = [=](int64_t c, int j) {
    return (Load(x + c * stride + j) - mean[j]) * inverse_std[j];
  };
  for (int64_t c = 0; dgamma != nullptr && c < span.channels; ++c) {
    float product = 0, sum = 0;
#pragma omp simd reduction(+ : product, sum)
    for (int j = 0; j < span.width; ++j) {
      product += Load(dy + c * stride + j) * normalized(c, j);
      sum += Load(dy + c * stride + j);
    }
    dgamma[c] += product;
    dbeta[c] += sum;
  }
  if (dx == nullptr) return;
  double sums[kLayerNormWidth], products[kLayerNormWidth];
  SumsOf(
      span, [=](int64_t c, int j) { return Load(dy + c * stride + j) * gamma[c]; }, sums);
  SumsOf(
      span,
      [=](int64_t c, int j) { return Load(dy + c * stride + j) * gamma[c] * normalized(c, j); },
      products);
  float a[kLayerNormWidth], b[kLayerNormWidth];
  for (int j = 0; j < span.width; ++j) {
    a[j] = static_cast<float>(sums[j] / static_cast<double>(span.channels));
    b[j] = static_cast<float>(products[j] / static_cast<double>(span.channels));
  }
  for (int64_t c = 0; c < span.channels; ++c) {
    T* to = dx + c * stride;
#pragma omp simd
    for (int j = 0; j < span.width; ++j) {
      Store(to + j, inverse_std[j] *
                        (Load(dy + c * stride + j) * gamma[c] - a[j] - normalized(c, j) * b[j]));
    }
  }
}

}  // namespace

GF_SIMD_DEFINE(LayerNormKernels, LayerNorm) = {
    {&Moments<float>, &Normalize<float>, &Backward<float>},
    {&Moments<uint16_t>, &Normalize<uint16_t>, &Backward<uint16_t>}};

}  // namespace gf

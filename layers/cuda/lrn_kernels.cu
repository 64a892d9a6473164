#include "core/cuda/launch_inline.h"
#include "layers/cuda/lrn_kernels.h"

namespace gf {
namespace {

// scale^-beta
__device__ float Power(float scale, float beta) {
  if (beta == 0.75f) {
    const float root = sqrtf(scale);
    return 1 / (root * sqrtf(root));
  }
  return powf(scale, -beta);
}

// The sum of f(index) over the window around element i.
template <typename F>
__device__ float WindowSum(const LrnImages& p, int64_t i, const F& f) {
  const int reach = p.size / 2, channel = static_cast<int>(i % p.channels);
  float sum = 0;
  if (!p.within_channel) {
    const int end = min(channel + reach, p.channels - 1);
    for (int c = max(channel - reach, 0); c <= end; ++c) sum += f(i + c - channel);
    return sum;
  }
  const int64_t pixel = i / p.channels;
  const int x = static_cast<int>(pixel % p.width), y = static_cast<int>(pixel / p.width % p.height);
  for (int h = max(y - reach, 0); h <= min(y + reach, p.height - 1); ++h) {
    for (int w = max(x - reach, 0); w <= min(x + reach, p.width - 1); ++w) {
      sum += f(i + (int64_t{h - y} * p.width + (w - x)) * p.channels);
    }
  }
  return sum;
}

template <typename T>
struct Forward {
  LrnImages p;
  const T* x;
  T* y;
  float* scale;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const float squares = WindowSum(p, i, [this](int64_t j) {
      const float v = ToFloat(x[j]);
      return v * v;
    });
    const float s = p.k + p.alpha * squares;
    if (scale != nullptr) scale[i] = s;
    y[i] = FromFloat<T>(ToFloat(x[i]) * Power(s, p.beta));
  }
};

template <typename T>
struct Backward {
  LrnImages p;
  const T* x;
  const T* dy;
  const float* scale;
  T* dx;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const float sum = WindowSum(p, i, [this](int64_t j) {
      return ToFloat(dy[j]) * ToFloat(x[j]) * Power(scale[j], p.beta) / scale[j];
    });
    const float own = ToFloat(dy[i]) * Power(scale[i], p.beta);
    dx[i] = FromFloat<T>(own - 2 * p.alpha * p.beta * ToFloat(x[i]) * sum);
  }
};

}  // namespace

void Lrn(const LrnImages& images, DType type, const void* x, void* y, float* scale,
         cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Forward<T> f = {images, static_cast<const T*>(x), static_cast<T*>(y), scale};
    Elementwise<1>(images.count(), f, stream);
  });
}

void LrnGradient(const LrnImages& images, DType type, const void* x, const void* dy,
                 const float* scale, void* dx, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Backward<T> f = {images, static_cast<const T*>(x), static_cast<const T*>(dy), scale,
                           static_cast<T*>(dx)};
    Elementwise<1>(images.count(), f, stream);
  });
}

}  // namespace gf

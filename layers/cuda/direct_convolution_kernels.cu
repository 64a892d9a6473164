#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/direct_convolution_kernels.h"

namespace gf {
namespace {

template <typename T>
struct Forward {
  ConvolutionShape s;
  const T* x;
  const T* w;
  T* y;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const int64_t o = i % s.outputs, ow = i / s.outputs % s.out[1];
    const int64_t oh = i / s.outputs / s.out[1] % s.out[0];
    const int64_t image = i / s.outputs / s.out[1] / s.out[0];
    const int64_t inputs = s.channels / s.groups, first = o / (s.outputs / s.groups) * inputs;
    float sum = 0;
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      const int64_t h = oh * s.stride[0] - s.pad[0] + r * s.dilation[0];
      if (h < 0 || h >= s.in[0]) continue;
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        const int64_t v = ow * s.stride[1] - s.pad[1] + q * s.dilation[1];
        if (v < 0 || v >= s.in[1]) continue;
        const T* pixel = x + ((image * s.in[0] + h) * s.in[1] + v) * s.channels + first;
        const T* tap = w + ((o * s.kernel[0] + r) * s.kernel[1] + q) * inputs;
        for (int64_t c = 0; c < inputs; ++c) sum += ToFloat(pixel[c]) * ToFloat(tap[c]);
      }
    }
    y[i] = FromFloat<T>(sum);
  }
};

template <typename T>
struct BackwardData {
  ConvolutionShape s;
  T* dx;
  const T* w;
  const T* dy;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const int64_t channel = i % s.channels, v = i / s.channels % s.in[1];
    const int64_t h = i / s.channels / s.in[1] % s.in[0];
    const int64_t image = i / s.channels / s.in[1] / s.in[0];
    const int64_t inputs = s.channels / s.groups, outputs = s.outputs / s.groups;
    const int64_t group = channel / inputs, c = channel % inputs;
    float sum = 0;
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      const int64_t up = h + s.pad[0] - r * s.dilation[0];
      if (up < 0 || up % s.stride[0] != 0 || up / s.stride[0] >= s.out[0]) continue;
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        const int64_t left = v + s.pad[1] - q * s.dilation[1];
        if (left < 0 || left % s.stride[1] != 0 || left / s.stride[1] >= s.out[1]) continue;
        const int64_t pixel = (image * s.out[0] + up / s.stride[0]) * s.out[1] + left / s.stride[1];
        for (int64_t k = group * outputs; k < (group + 1) * outputs; ++k) {
          const int64_t tap = ((k * s.kernel[0] + r) * s.kernel[1] + q) * inputs + c;
          sum += ToFloat(dy[pixel * s.outputs + k]) * ToFloat(w[tap]);
        }
      }
    }
    dx[i] = FromFloat<T>(sum);
  }
};

// One block per element of the filters.
template <typename T>
__global__ void BackwardFilter(ConvolutionShape s, const T* x, T* dw, const T* dy) {
  const int64_t inputs = s.channels / s.groups, pixels = s.n * s.out[0] * s.out[1];
  for (int64_t i = blockIdx.x; i < s.w_count(); i += gridDim.x) {
    const int64_t c = i % inputs, q = i / inputs % s.kernel[1];
    const int64_t r = i / inputs / s.kernel[1] % s.kernel[0];
    const int64_t o = i / inputs / s.kernel[1] / s.kernel[0];
    const int64_t channel = o / (s.outputs / s.groups) * inputs + c;
    float sum = 0;
    for (int64_t p = threadIdx.x; p < pixels; p += blockDim.x) {
      const int64_t ow = p % s.out[1], oh = p / s.out[1] % s.out[0],
                    image = p / s.out[1] / s.out[0];
      const int64_t h = oh * s.stride[0] - s.pad[0] + r * s.dilation[0];
      const int64_t v = ow * s.stride[1] - s.pad[1] + q * s.dilation[1];
      if (h < 0 || h >= s.in[0] || v < 0 || v >= s.in[1]) continue;
      sum += ToFloat(x[((image * s.in[0] + h) * s.in[1] + v) * s.channels + channel]) *
             ToFloat(dy[p * s.outputs + o]);
    }
    sum = BlockSum(sum);
    if (threadIdx.x == 0) dw[i] = FromFloat<T>(sum);
  }
}

}  // namespace

void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w, void* y,
                   cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Forward<T> f = {shape, static_cast<const T*>(x), static_cast<const T*>(w),
                          static_cast<T*>(y)};
    Elementwise<1>(shape.y_count(), f, stream);
  });
}

void DirectBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                        const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const BackwardData<T> f = {shape, static_cast<T*>(dx), static_cast<const T*>(w),
                               static_cast<const T*>(dy)};
    Elementwise<1>(shape.x_count(), f, stream);
  });
}

void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                          const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const int blocks = static_cast<int>(std::min<int64_t>(shape.w_count(), 1 << 20));
    Launch({blocks, kThreads, stream}, BackwardFilter<T>, shape, static_cast<const T*>(x),
           static_cast<T*>(dw), static_cast<const T*>(dy));
  });
}

}  // namespace gf

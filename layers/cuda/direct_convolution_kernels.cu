#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/direct_convolution_kernels.h"

namespace gf {
namespace {

// Where the results go: all elements, or samples.
template <typename T>
struct All {
  T* values;
  int64_t count;

  __device__ int64_t At(int64_t i) const { return i; }
  __device__ void Store(int64_t i, float value) const { values[i] = FromFloat<T>(value); }
};

struct Some : Samples {
  explicit Some(const Samples& samples) : Samples(samples) {}

  __device__ void Store(int64_t i, float value) const { values[i] = value; }
};

template <typename T, typename Results>
struct Forward {
  ConvolutionShape s;
  const T* x;
  const T* w;
  Results y;

  template <int kCount>
  __device__ void Run(int64_t index) const {
    const int64_t i = y.At(index);
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
    y.Store(index, sum);
  }
};

template <typename T, typename Results>
struct BackwardData {
  ConvolutionShape s;
  Results dx;
  const T* w;
  const T* dy;

  template <int kCount>
  __device__ void Run(int64_t index) const {
    const int64_t i = dx.At(index);
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
    dx.Store(index, sum);
  }
};

// One block per element of the filters.
template <typename T, typename Results>
__global__ void BackwardFilter(ConvolutionShape s, const T* x, Results dw, const T* dy) {
  const int64_t inputs = s.channels / s.groups, pixels = s.n * s.out[0] * s.out[1];
  for (int64_t index = blockIdx.x; index < dw.count; index += gridDim.x) {
    const int64_t i = dw.At(index);
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
    if (threadIdx.x == 0) dw.Store(index, sum);
  }
}

template <typename T>
struct Take {
  const T* data;
  Some samples;

  template <int kCount>
  __device__ void Run(int64_t index) const {
    samples.Store(index, ToFloat(data[samples.At(index)]));
  }
};

template <typename T, typename Results>
void RunForward(const ConvolutionShape& s, const void* x, const void* w, const Results& y,
                cudaStream_t stream) {
  const Forward<T, Results> f = {s, static_cast<const T*>(x), static_cast<const T*>(w), y};
  Elementwise<1>(y.count, f, stream);
}

template <typename T, typename Results>
void RunBackwardData(const ConvolutionShape& s, const Results& dx, const void* w, const void* dy,
                     cudaStream_t stream) {
  const BackwardData<T, Results> f = {s, dx, static_cast<const T*>(w), static_cast<const T*>(dy)};
  Elementwise<1>(dx.count, f, stream);
}

template <typename T, typename Results>
void RunBackwardFilter(const ConvolutionShape& s, const void* x, const Results& dw, const void* dy,
                       cudaStream_t stream) {
  const int blocks = static_cast<int>(std::min<int64_t>(dw.count, 1 << 20));
  Launch({blocks, kThreads, stream}, BackwardFilter<T, Results>, s, static_cast<const T*>(x), dw,
         static_cast<const T*>(dy));
}

}  // namespace

void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w, void* y,
                   cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    RunForward<T>(shape, x, w, All<T>{static_cast<T*>(y), shape.y_count()}, stream);
  });
}

void DirectBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                        const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    RunBackwardData<T>(shape, All<T>{static_cast<T*>(dx), shape.x_count()}, w, dy, stream);
  });
}

void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x, void* dw,
                          const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    RunBackwardFilter<T>(shape, x, All<T>{static_cast<T*>(dw), shape.w_count()}, dy, stream);
  });
}

void DirectForward(const ConvolutionShape& shape, DType type, const void* x, const void* w,
                   const Samples& y, cudaStream_t stream) {
  WithType(type, [&](auto t) { RunForward<decltype(t)>(shape, x, w, Some(y), stream); });
}

void DirectBackwardData(const ConvolutionShape& shape, DType type, const Samples& dx, const void* w,
                        const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) { RunBackwardData<decltype(t)>(shape, Some(dx), w, dy, stream); });
}

void DirectBackwardFilter(const ConvolutionShape& shape, DType type, const void* x,
                          const Samples& dw, const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) { RunBackwardFilter<decltype(t)>(shape, x, Some(dw), dy, stream); });
}

void TakeSamples(DType type, const void* data, const Samples& samples, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Elementwise<1>(samples.count, Take<T>{static_cast<const T*>(data), Some(samples)}, stream);
  });
}

}  // namespace gf

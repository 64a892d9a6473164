#pragma once

#include "layers/cuda/depthwise_kernels.h"
#include "layers/cuda/image_places_inline.h"

namespace gf {

// A depthwise convolution with indices of 31 bits. Index 0: height, 1: width.
struct DepthwiseWindow {
  explicit DepthwiseWindow(const ConvolutionShape& s) {
    for (int axis = 0; axis < 2; ++axis) {
      kernel[axis] = static_cast<int>(s.kernel[axis]);
      stride[axis] = static_cast<int>(s.stride[axis]);
      pad[axis] = static_cast<int>(s.pad[axis]);
      dilation[axis] = static_cast<int>(s.dilation[axis]);
    }
  }

  // First input of output i's window along an axis; may be outside the image.
  __device__ int Begin(int axis, int i) const { return i * stride[axis] - pad[axis]; }

  int kernel[2], stride[2], pad[2], dilation[2];
};

// The tensors of a shape.
template <typename T>
Images<T> ImagesOf(const ConvolutionShape& s, T* x) {
  return {x, static_cast<int>(s.in[0]), static_cast<int>(s.in[1]), static_cast<int>(s.channels)};
}
template <typename T>
Images<T> ResultsOf(const ConvolutionShape& s, T* y) {
  return {y, static_cast<int>(s.out[0]), static_cast<int>(s.out[1]), static_cast<int>(s.outputs)};
}

// Filters per channel.
inline int MultiplierOf(const ConvolutionShape& s) {
  return static_cast<int>(s.outputs / s.channels);
}

// Calls f(std::integral_constant<int, n>), where n is the number of neighboring channels of T that
// a thread moves at once. With several filters per channel, neighbors of images and of results are
// not the same channels, and n is 1.
template <typename T, typename F>
void WithDepthwisePacks(const ConvolutionShape& s, const F& f) {
  if (s.outputs == s.channels) {
    WithPacks<T>(s.channels, f);
  } else {
    f(std::integral_constant<int, 1>());
  }
}

// The smallest power of two that is at least `packs`, but at most `most`, which is one.
inline int ThreadsAcross(int packs, int most) {
  int across = 1;
  while (across < most && across < packs) across *= 2;
  return across;
}

// *sum += a * b
template <int kCount>
__device__ void MultiplyAdd(const Floats<kCount>& a, const Floats<kCount>& b, Floats<kCount>* sum) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum->v[k] += a.v[k] * b.v[k];
}

}  // namespace gf

#pragma once

#include "layers/cuda/image_places_inline.h"
#include "layers/cuda/pooling_kernels.h"

namespace gf {

// Windows whose size is known at launch.
struct PoolingWindows {
  explicit PoolingWindows(const PoolingImages& images) : p(images) {
    for (int axis = 0; axis < 2; ++axis) stride[axis] = FastDivide(p.stride[axis]);
  }

  struct Range {
    int begin, end;
  };
  // First input of output i's window along an axis; may be before the image.
  __device__ int Begin(int axis, int i) const { return i * p.stride[axis] - p.pad[axis]; }
  // The part of that window inside the image.
  __device__ Range Window(int axis, int i) const {
    const int begin = Begin(axis, i);
    return {max(begin, 0), min(begin + p.kernel[axis], p.in[axis])};
  }
  // The outputs whose windows contain input i along an axis.
  __device__ Range Windows(int axis, int i) const {
    const int at = i + p.pad[axis], first = at - p.kernel[axis];
    const int begin = first < 0 ? 0 : static_cast<int>(stride[axis].Quotient(first)) + 1;
    return {begin, min(static_cast<int>(stride[axis].Quotient(at)) + 1, p.out[axis])};
  }
  // Number of taps of a window inside the padded image, along an axis.
  __device__ int Taps(int axis, int i) const {
    const int begin = Begin(axis, i);
    return min(begin + p.kernel[axis], p.in[axis] + p.pad[axis]) - begin;
  }

  PoolingImages p;
  FastDivide stride[2];
};

template <typename T>
Images<T> ImagesOf(const PoolingImages& p, const int* size, T* data) {
  return {data, size[0], size[1], p.channels};
}

}  // namespace gf

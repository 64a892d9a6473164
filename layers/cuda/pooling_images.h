#pragma once

#include "layers/cuda/pooling_kernels.h"
#include "layers/window.h"

namespace gf {

inline PoolingImages PoolingImagesOf(const Shape& bottom, const Shape& top, const Window& window) {
  PoolingImages images;
  images.n = bottom[0];
  images.channels = static_cast<int>(bottom[1]);
  for (int i = 0; i < 2; ++i) {
    images.in[i] = static_cast<int>(bottom[2 + i]);
    images.out[i] = static_cast<int>(top[2 + i]);
    images.kernel[i] = static_cast<int>(window.kernel[i]);
    images.stride[i] = static_cast<int>(window.stride[i]);
    images.pad[i] = static_cast<int>(window.pad[i]);
  }
  return images;
}

}  // namespace gf

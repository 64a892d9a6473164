#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Note [Folded images]
// Tensor cores multiply 8 or 16 channels at a time: on color images a convolution leaves most of
// them idle. Therefore the pixels of a block become the channels of one pixel, with a block for
// every `stride` pixels:
//   folded[n][i][j][p][q][c] = images[n][stride * i + p - shift][stride * j + q - shift][c],
// with zeros outside of the images and in the channels up to a multiple of 8. With filters that are
// folded in the same way, a convolution of stride 1 without padding has the same results. Blocks of
// stride x stride pixels turn ResNet's 7 x 7 filters with stride 2 into 4 x 4 filters on 12 (16)
// channels, AlexNet's 11 x 11 with stride 4 into 3 x 3 on 48 channels. Blocks that are as wide as
// the filters overlap; they turn ResNet's filters into 4 x 1 filters on 48 channels. Index 0:
// height, 1: width.
struct Folding {
  int64_t n = 0;
  int channels = 0, size[2] = {};                // of the images or filters
  int folded_channels = 0, folded_size[2] = {};  // after folding
  int block[2] = {}, stride[2] = {}, shift[2] = {};

  int64_t folded_count() const { return n * folded_size[0] * folded_size[1] * folded_channels; }
};

// Both tensors have the channels last; `folded` is aligned to 16 bytes.
void Fold(const Folding& folding, DType type, const void* images, void* folded,
          cudaStream_t stream);
// The reverse, for gradients of filters, whose blocks do not overlap: each element of `images` from
// its place in `folded`.
void Unfold(const Folding& folding, DType type, const void* folded, void* images,
            cudaStream_t stream);

}  // namespace gf

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/batch.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace gf {

// Channels-last UINT8 images, and the settings for their conversion.
struct InputImages {
  const uint8_t* x = nullptr;          // [n][height][width][channels], for whole images
  const ImageCut* cuts = nullptr;      // [n]; null: all of each image
  const uint8_t* const* of = nullptr;  // [n]: address of each image to cut from
  const float* mean = nullptr;         // [channels]
  const float* inverse_std = nullptr;  // [channels]
  int64_t height = 0, width = 0;       // of each image
  int64_t out_height = 0, out_width = 0;
  int64_t n = 0;
  int channels = 0;
};

// y[image][row][column][c] = (x - mean[c]) * inverse_std[c] for each pixel of the cuts, in one
// pass.
void NormalizeImages(const InputImages& images, DType type, void* y, cudaStream_t stream);

// Mixes images [n][height][width][channels] of this type in place, see BatchMix.
void MixImages(const BatchMix& mix, const Shape& shape, DType type, void* y, cudaStream_t stream);

}  // namespace gf

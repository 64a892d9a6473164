#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace gf {

// What a Loader hands to a Net: decoded, cropped and mirrored images of one size.
struct Batch {
  // UINT8 in the order N, H, W, C (host memory); or FP32 in the order N, C, H, W, which is
  // taken as it is (tests and converted data). desc.shape is always N, C, H, W.
  Tensor images;
  // Class index of each image.
  std::vector<int64_t> labels;
  // Images at the end of the batch that only fill it up (evaluation): not counted.
  int64_t padding = 0;
  // pixel -> (pixel - mean[c]) * inverse_std[c]; one value per channel. Empty: 0 and 1.
  std::vector<float> mean, inverse_std;
  // Where the batch lies: epoch, and the first global sample position in it.
  int64_t epoch = 0, position = 0;

  int64_t size() const { return images.desc.shape.rank() ? images.desc.shape[0] : 0; }
};

}  // namespace gf

#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace gf {

// Which part of an image enters the net: where it begins, in pixels, and whether it is mirrored
// left to right.
struct ImageCut {
  int32_t top = 0, left = 0;
  int32_t mirrored = 0;  // 0 or 1
};

// What a Loader hands to a Net: decoded images of one size.
struct Batch {
  // UINT8 in the order N, H, W, C (host memory); or FP32 in the order N, C, H, W, which is
  // taken as it is (tests and converted data). desc.shape is always N, C, H, W.
  Tensor images;
  // One per image of UINT8, or none: then images are of the net's size, and enter it as they are.
  std::vector<ImageCut> cuts;
  // Class index of each image.
  std::vector<int64_t> labels;
  // Images at the end of the batch that only fill it up (evaluation): not counted.
  int64_t padding = 0;
  // pixel -> (pixel - mean[c]) * inverse_std[c]; one value per channel. Empty: 0 and 1.
  std::vector<float> mean, inverse_std;
  // Where the batch lies: epoch, and the first global sample position in it.
  int64_t epoch = 0, position = 0;

  int64_t size() const { return images.desc.shape.rank() ? images.desc.shape[0] : 0; }

  // Whether the images, or the parts that are cut from them, are of this shape (N, C, H, W).
  bool Fits(const Shape& input) const {
    const Shape& own = images.desc.shape;
    if (cuts.empty()) return own == input;
    if (own.rank() != 4 || images.desc.dtype != DType::kUINT8 || own[0] != input[0] ||
        own[1] != input[1] || static_cast<int64_t>(cuts.size()) != own[0]) {
      return false;
    }
    for (const ImageCut& cut : cuts) {
      if (cut.top < 0 || cut.top + input[2] > own[2]) return false;
      if (cut.left < 0 || cut.left + input[3] > own[3]) return false;
    }
    return true;
  }
};

}  // namespace gf

#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace gf {

// Which part of an image enters the net: where it begins, in pixels, and whether it is mirrored
// left to right. What of it lies outside of the image is 0.
struct ImageCut {
  int32_t top = 0, left = 0;
  int32_t mirrored = 0;  // 0 or 1
};

// Note [Images kept on the device]
// Images can stay in the device's memory, so that each is decoded and sent there once. The loader
// decides what lies where (data/loader/device_places.h); the kernel that takes a batch in puts
// those there that have a place and are not there yet. So the batches of a loader that keeps images
// must be taken in by one device, each of them, in order.
struct KeptImages {
  // Device memory, UINT8 in the order N, H, W, C; desc.shape is N, C, H, W, where N is the number
  // of places. No axes: no images are kept.
  Tensor images;
  // One per image of the batch: the place that it gets or has, -1: none.
  std::vector<int64_t> places;
  // One per image: whether it lies there by now; then there are no pixels of it in the batch.
  std::vector<uint8_t> there;

  bool any() const { return images.desc.shape.rank() > 0; }
  // On the device.
  uint8_t* At(int64_t place) const {
    return images.as<uint8_t>() + place * images.desc.shape.count(1, 4);
  }
  // Whether all this makes sense for a batch of this shape.
  bool Fit(const Shape& batch) const {
    if (!any()) return true;
    const Shape& shape = images.desc.shape;
    const auto count = static_cast<size_t>(batch[0]);
    if (shape != Shape{shape[0], batch[1], batch[2], batch[3]}) return false;
    if (places.size() != count || there.size() != count) return false;
    for (size_t i = 0; i < count; ++i) {
      if (places[i] < (there[i] ? 0 : -1) || places[i] >= shape[0]) return false;
    }
    return true;
  }
};

// What a Loader hands to a Net: decoded images of one size.
struct Batch {
  // UINT8 in the order N, H, W, C (host memory); or FP32 in the order N, C, H, W, which is
  // taken as it is (tests and converted data). desc.shape is always N, C, H, W.
  Tensor images;
  // One per image of UINT8, or none: then images are of the net's size, and enter it as they are.
  std::vector<ImageCut> cuts;
  KeptImages kept;  // only with cuts
  // Class index of each image.
  std::vector<int64_t> labels;
  // Images at the end of the batch that only fill it up (evaluation): not counted.
  int64_t padding = 0;
  // pixel -> (pixel - mean[c]) * inverse_std[c]; one value per channel. Empty: 0 and 1.
  std::vector<float> mean, inverse_std;
  // Where the batch lies: epoch, and the first global sample position in it.
  int64_t epoch = 0, position = 0;

  int64_t size() const { return images.desc.shape.rank() ? images.desc.shape[0] : 0; }

  // Whether the images, or the parts that are cut from them, are of this shape (N, C, H, W). Each
  // part must show some of its image.
  bool Fits(const Shape& input) const {
    const Shape& own = images.desc.shape;
    if (cuts.empty()) return own == input && !kept.any();
    if (own.rank() != 4 || images.desc.dtype != DType::kUINT8 || own[0] != input[0] ||
        own[1] != input[1] || static_cast<int64_t>(cuts.size()) != own[0]) {
      return false;
    }
    for (const ImageCut& cut : cuts) {
      if (cut.top <= -input[2] || cut.top >= own[2]) return false;
      if (cut.left <= -input[3] || cut.left >= own[3]) return false;
    }
    return kept.Fit(own);
  }
};

}  // namespace gf

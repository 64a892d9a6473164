#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace gf {

// The pixel at place `i` of an axis of `size` pixels that continues as its own mirror image, where
// the pixel at the end does not come twice: -1 shows 1, and `size` shows size - 2. Needs
// -size < i < 2 size - 1. It is constexpr so that GPU kernels can call it.
template <typename Int>
constexpr Int ReflectedPixel(Int i, Int size) {
  return i < 0 ? -i : i < size ? i : 2 * (size - 1) - i;
}

// Whether ReflectedPixel has all places of a part of `length` pixels from `begin` on.
constexpr bool ReflectionReaches(int64_t begin, int64_t length, int64_t size) {
  return -size < begin && begin + length < 2 * size;
}

// The part of an image that enters the net: its origin in pixels, and whether it is mirrored left
// to right. Pixels outside the image are 0; with `reflected`, ReflectedPixel says which.
struct ImageCut {
  int32_t top = 0, left = 0;
  int32_t mirrored = 0;   // 0 or 1
  int32_t reflected = 0;  // 0 or 1
};

// Note [Images kept on the device]
// Images can stay in the device's memory, so that each is decoded and sent only once. The loader
// assigns images to places (data/loader/device_places.h). The Input kernel stores the images that
// have a place and are not there yet. Therefore one device must consume every batch of such a
// loader, in order.
struct KeptImages {
  // Device memory, UINT8 in the order N, H, W, C; desc.shape is N, C, H, W, where N is the number
  // of places. Without axes, no images are kept.
  Tensor images;
  // One per image of the batch: its place, or -1 if it has none.
  std::vector<int64_t> places;
  // One per image: whether it is already at its place. The batch then does not contain its pixels.
  std::vector<uint8_t> there;

  bool any() const { return images.desc.shape.rank() > 0; }
  // Device address of a place.
  uint8_t* At(int64_t place) const {
    return images.as<uint8_t>() + place * images.desc.shape.count(1, 4);
  }
  // Whether these fields are consistent with a batch of this shape.
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

// How the images of a batch are mixed after they are normalized. Inside a window, image i becomes
// pixel_share * (image i) + (1 - pixel_share) * (image i-1); image 0 is mixed with the last one.
// Label values, and losses of class labels, are mixed in the same way with label_share.
struct BatchMix {
  // In pixels of the net's input. An empty window: the images are not mixed.
  int32_t top = 0, left = 0, height = 0, width = 0;
  float pixel_share = 1, label_share = 1;

  bool any() const { return height > 0 && width > 0; }
  // Whether the window lies inside images of this shape (N, C, H, W).
  bool Fits(const Shape& images) const {
    return top >= 0 && left >= 0 && top + height <= images[2] && left + width <= images[3];
  }
};

// The number of the image, of `count`, that mixes into image i.
constexpr int64_t MixedImage(int64_t i, int64_t count) { return (i == 0 ? count : i) - 1; }

// Decoded images of one size, which a Loader hands to a Net.
struct Batch {
  // Host memory: UINT8 in the order N, H, W, C, or FP32 in the order N, C, H, W, which is
  // normalized and used unchanged (pixels of more than 8 bits; mean images; tests). desc.shape is
  // always N, C, H, W.
  Tensor images;
  // One per UINT8 image, or empty: the images then have the net's input size and enter it uncut.
  std::vector<ImageCut> cuts;
  KeptImages kept;  // only with cuts
  // Class index of each image; 0 where images have several labels.
  std::vector<int64_t> labels;
  // Where images have several labels (LabelConfig): [N][count], 1 for each class of an image and 0
  // for the others, or its values. Empty: each image has one class.
  std::vector<float> label_values;
  // Number of images at the end that only fill up the batch (evaluation); they do not count.
  int64_t padding = 0;
  // UINT8: pixel -> (pixel - mean[c]) * inverse_std[c]; one value per channel. Empty: 0 and 1.
  std::vector<float> mean, inverse_std;
  BatchMix mix;
  // Epoch of the batch, and the global position of its first sample within the epoch.
  int64_t epoch = 0, position = 0;

  int64_t size() const { return images.desc.shape.rank() ? images.desc.shape[0] : 0; }

  // Whether the images, or the parts cut from them, have this shape (N, C, H, W). Each part must
  // contain at least one pixel of its image, or be in the reach of ReflectedPixel.
  bool Fits(const Shape& input) const {
    const Shape& own = images.desc.shape;
    if (cuts.empty()) return own == input && !kept.any();
    if (own.rank() != 4 || images.desc.dtype != DType::kUINT8 || own[0] != input[0] ||
        own[1] != input[1] || static_cast<int64_t>(cuts.size()) != own[0]) {
      return false;
    }
    for (const ImageCut& cut : cuts) {
      if (cut.reflected != 0) {
        if (!ReflectionReaches(cut.top, input[2], own[2])) return false;
        if (!ReflectionReaches(cut.left, input[3], own[3])) return false;
        continue;
      }
      if (cut.top <= -input[2] || cut.top >= own[2]) return false;
      if (cut.left <= -input[3] || cut.left >= own[3]) return false;
    }
    return kept.Fit(own);
  }
};

}  // namespace gf

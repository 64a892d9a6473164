#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/image/image.h"

namespace gf {

// Adds up images of one size and format pixel by pixel. The sums of UINT8 and UINT16 are whole
// numbers, so they do not depend on the order of the images; sums of FP32 may, in the last bits of
// FP64.
class PixelSums {
 public:
  // Adds an image; all have the size and the format of the first one, and `pixels` are aligned to
  // the size of their type. `color`: it is not a gray image as RGB.
  void Add(const void* pixels, ImageSize size, PixelFormat format, bool color);
  // Adds the images of another object.
  void Add(const PixelSums& other);

  // Of the mean image: C, H, W, with one channel if all images are grayscale.
  Shape shape() const { return {color_ ? format_.channels : 1, size_.height, size_.width}; }
  // Writes the mean image as Caffe's compute_image_mean does: a binary BlobProto of 1, C, H, W
  // values, where three channels are B, G, R. Needs an image. Throws UserError if the file cannot
  // be written, or would have more than 2 GiB.
  void WriteMean(const std::string& file) const;

 private:
  // Before images of this size and format are added.
  void Begin(ImageSize size, PixelFormat format);

  ImageSize size_;
  PixelFormat format_;
  bool color_ = false;
  int64_t images_ = 0;
  std::vector<double> sums_;  // H, W, C
};

}  // namespace gf

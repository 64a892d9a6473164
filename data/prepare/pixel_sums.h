#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/image/image.h"

namespace gf {

// Adds up images of one size pixel by pixel. The sums are whole numbers, so they do not depend on
// the order of the images.
class PixelSums {
 public:
  // Adds an image of RGB pixels; all have the size of the first one. `color`: it is not grayscale.
  void Add(const uint8_t* rgb, ImageSize size, bool color);
  // Adds the images of another object.
  void Add(const PixelSums& other);

  // Of the mean image: C, H, W, with one channel if all images are grayscale.
  Shape shape() const { return {color_ ? 3 : 1, size_.height, size_.width}; }
  // Writes the mean image as Caffe's compute_image_mean does: a binary BlobProto of 1, C, H, W
  // values, where three channels are B, G, R. Needs an image. Throws UserError if the file cannot
  // be written.
  void WriteMean(const std::string& file) const;

 private:
  // Before images of this size are added.
  void Begin(ImageSize size);

  ImageSize size_;
  bool color_ = false;
  int64_t images_ = 0;
  std::vector<uint64_t> sums_;  // H, W, RGB
};

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/job.pb.h"
#include "core/random.h"
#include "data/byte_buffer.h"
#include "data/image.h"

namespace gf {

// Brings images to the size that a net takes: resize, pad, crop, mirror, in this order.
// Immutable; safe to use from several threads.
class Augment {
 public:
  // `random`: crop and mirror at random as the config says; otherwise (evaluation) the
  // window is cut from the centre and nothing is mirrored. Throws UserError for settings
  // that contradict each other.
  Augment(const DataConfig& config, bool random);

  // The size of the result for an image of this size. Throws UserError if the crop is
  // larger than the image or the result has more than kMaxPixels.
  ImageSize OutputSize(ImageSize in) const;
  // Whether the result is the image itself, at most mirrored.
  bool KeepsPixels(ImageSize in) const;

  // Writes the result (OutputSize(in), rows without gaps) to `out`. `random` is the stream of
  // this sample in this epoch. `out` and `pixels` must not overlap.
  void Apply(const uint8_t* pixels, ImageSize in, int channels, Random random, uint8_t* out,
             ByteBuffer* scratch) const;
  // The same in place, where KeepsPixels.
  void ApplyInPlace(uint8_t* pixels, ImageSize size, int channels, Random random) const;

 private:
  ImageSize ResizedSize(ImageSize in) const;

  int resize_shorter_, resize_height_, resize_width_, pad_, crop_;
  bool random_crop_, mirror_;
};

// Resizes an image: averages areas where it shrinks, interpolates linearly where it grows,
// each axis for itself.
void Resize(const uint8_t* from, ImageSize from_size, int channels, ImageSize to_size, uint8_t* to);

}  // namespace gf

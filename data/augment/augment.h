#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "core/random.h"
#include "core/shape.h"
#include "data/augment/color.h"
#include "data/augment/pixel_operation.h"
#include "data/image/image.h"
#include "data/image/render.h"

namespace gf {

// The transformation of one image in one epoch. The image is resized to `resized` and surrounded by
// zeros; `window` is cut out, resized to `out` and mirrored; operations follow one another; the
// colors change; finally a part of `out` is erased.
struct Recipe {
  ImageSize resized;
  ImageWindow window;
  // The window reaches outside the image and shows the pixels of ReflectedPixel there, not zeros.
  bool reflected = false;
  ImageSize out;
  bool mirrored = false;
  std::vector<PixelOperation> operations;
  ColorChange colors;
  ImageWindow erased;
};

// Chooses the transformation of images: resize, pad, crop, mirror, operations, colors, erasing, in
// this order. A choice depends only on the given random stream and the size of the image.
// Immutable; safe to use from several threads.
class Augment {
 public:
  // `random`: change images at random, as the config says. Otherwise (evaluation) the window is cut
  // from the center and nothing else changes. CheckData has accepted `config`.
  Augment(const DataConfig& config, bool random);

  // Size of the result for an image of this size. Throws UserError if the crop is larger than the
  // image, the result has more than kMaxPixels or the image is too small to be reflected.
  ImageSize OutputSize(ImageSize in) const;
  // Size to which an image is resized before the crop. Throws as OutputSize.
  ImageSize ResizedSize(ImageSize in) const;

  // `random` is the stream of this sample in this epoch. Throws as OutputSize.
  Recipe Draw(ImageSize in, Random random) const;

  // Whether to mirror: the first draw of Draw.
  bool DrawMirror(Random* random) const;

  // A recipe that only resizes. Throws as OutputSize.
  Recipe Whole(ImageSize in) const;

  // Whether recipes are followed exactly (View::exact). If not, an image may be decoded at a
  // fraction of its size where that is faster; pixels then differ slightly.
  bool Exact() const { return !random_; }
  DataConfig::Filter filter() const { return config_.filter(); }

 private:
  void DrawResizedCrop(ImageSize in, Random* random, Recipe* recipe) const;

  const DataConfig config_;
  const bool random_;
};

// The view of an image of size `in` that follows the recipe through mirroring, with zeros outside
// the image. If the image must be there as a whole (CutsTwice), `in` is recipe.resized, the size
// after the first resizing.
View ViewOf(const Recipe& recipe, ImageSize in, DataConfig::Filter filter);
// Whether the whole image must be resized before the window is cut from it: because the window is
// resized again, or shows reflected pixels, which may lie outside the window.
bool CutsTwice(const Recipe& recipe, ImageSize in);

// The format in which pixels are read, resized and cached.
PixelFormat PixelFormatOf(const DataConfig& config);

// Throws UserError unless config.test_shifts is less than the height and width of the net's images.
void CheckTestShifts(const DataConfig& config, ImageSize image);

// C, H, W of every image as it enters the net; no axes where the data decide it.
Shape ImageShapeOf(const DataConfig& config);

}  // namespace gf

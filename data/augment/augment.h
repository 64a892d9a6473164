#pragma once

#include <cstdint>

#include "core/config/job.pb.h"
#include "core/random.h"
#include "data/augment/colour.h"
#include "data/image/image.h"
#include "data/image/render.h"

namespace gf {

// What an image is turned into in one epoch. First it is resized to `resized`; of that, with
// zeros around it, `window` is cut, brought to the size `out` and mirrored; then the colours are
// changed.
struct Recipe {
  ImageSize resized;
  ImageWindow window;
  ImageSize out;
  bool mirrored = false;
  ColourChange colours;
};

// Decides what becomes of images: resize, pad, crop, mirror, colours, in this order. All choices
// are drawn from the stream that is given, and depend on the image's size only. Immutable; safe
// to use from several threads.
class Augment {
 public:
  // `random`: crop, mirror and colours at random as the config says; otherwise (evaluation) the
  // window is cut from the center and nothing else is done. `config` as CheckData checked it.
  Augment(const DataConfig& config, bool random);

  // The size of the result for an image of this size. Throws UserError if the crop is
  // larger than the image or the result has more than kMaxPixels.
  ImageSize OutputSize(ImageSize in) const;
  // The size to which an image is resized before a part is cut out. Throws as OutputSize.
  ImageSize ResizedSize(ImageSize in) const;

  // `random` is the stream of this sample in this epoch. Throws as OutputSize.
  Recipe Draw(ImageSize in, Random random) const;

  // The image resized, and nothing else. Throws as OutputSize.
  Recipe Whole(ImageSize in) const;

  // Whether recipes are followed exactly (View::exact). Otherwise also at a fraction of an image's
  // size where that is quicker: pixels differ a little from those of the full size.
  bool Exact() const { return !random_; }
  DataConfig::Filter filter() const { return config_.filter(); }

 private:
  void DrawResizedCrop(ImageSize in, Random* random, Recipe* recipe) const;

  const DataConfig config_;
  const bool random_;
};

// The view of an image of size `in` that follows the recipe but for its colours, or, where
// resizing happens twice (CutsTwice), of the image resized to recipe.resized.
View ViewOf(const Recipe& recipe, ImageSize in, DataConfig::Filter filter);
// Whether the image must be resized before the window is resized again.
bool CutsTwice(const Recipe& recipe, ImageSize in);

}  // namespace gf

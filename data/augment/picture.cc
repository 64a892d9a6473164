#include "data/augment/picture.h"

#include <cstring>
#include <utility>

#include "core/batch.h"

namespace gf {
namespace {

// Writes the pixels of a reflected window that lie outside the image. `image`: recipe.resized
// pixels; `picture`: recipe.out pixels, of which those inside the image are there already.
void FillReflection(const Recipe& recipe, PixelFormat format, const uint8_t* image,
                    uint8_t* picture) {
  const ImageWindow& window = recipe.window;
  const int64_t bytes = format.bytes();
  for (int y = 0; y < window.height; ++y) {
    const int line = window.top + y, row = ReflectedPixel(line, recipe.resized.height);
    for (int x = 0; x < window.width; ++x, picture += bytes) {
      const int place = window.left + (recipe.mirrored ? window.width - 1 - x : x);
      const int column = ReflectedPixel(place, recipe.resized.width);
      if (row == line && column == place) continue;
      std::memcpy(picture, image + (int64_t{row} * recipe.resized.width + column) * bytes, bytes);
    }
  }
}

// What follows when all pixels are there.
void ChangePixels(const Recipe& recipe, int channels, uint8_t* pixels, PictureScratch* scratch) {
  for (const PixelOperation& operation : recipe.operations) {
    ApplyPixelOperation(operation, recipe.out, channels, pixels, &scratch->changed);
  }
  if (!recipe.colors.Nothing()) recipe.colors.Apply(pixels, recipe.out.pixels());
}

}  // namespace

PictureSink::PictureSink(const Augment& augment, PixelFormat format, Choose choose,
                         bool keep_resized, uint8_t* out, PictureScratch* scratch)
    : augment_(augment),
      format_(format),
      choose_(std::move(choose)),
      keep_resized_(keep_resized),
      out_(out),
      scratch_(scratch) {}

DecodeRequest PictureSink::Begin(ImageSize size, bool scalable) {
  recipe_ = choose_(size);
  const bool twice = keep_resized_ || CutsTwice(recipe_, size);
  View view = twice ? WholeView(size, recipe_.resized, augment_.filter())
                    : ViewOf(recipe_, size, augment_.filter());
  view.exact = augment_.Exact();
  int denominator = 1;
  if (scalable && !view.exact) {
    denominator = view.LargestReduction();
    view = view.Reduced(denominator);
  }
  resized_ = twice ? scratch_->resized.Reserve(view.size.pixels() * format_.bytes()) : nullptr;
  DecodeRequest request = scratch_->renderer.Start(view, format_, twice ? resized_ : out_);
  request.denominator = denominator;
  return request;
}

void PictureSink::Finish() {
  if (resized_ != nullptr) {
    FinishPicture(recipe_, augment_.filter(), format_, resized_, out_, scratch_);
  } else {
    ChangePixels(recipe_, format_.channels, out_, scratch_);
  }
}

void FinishPicture(const Recipe& recipe, DataConfig::Filter filter, PixelFormat format,
                   const uint8_t* resized, uint8_t* out, PictureScratch* scratch) {
  RenderPixels(resized, recipe.resized, format, ViewOf(recipe, recipe.resized, filter),
               &scratch->renderer, out);
  if (recipe.reflected) FillReflection(recipe, format, resized, out);
  ChangePixels(recipe, format.channels, out, scratch);
}

}  // namespace gf

#pragma once

#include <cstdint>
#include <functional>

#include "data/augment/augment.h"
#include "data/image/byte_buffer.h"
#include "data/image/image.h"
#include "data/image/render.h"

namespace gf {

// Scratch memory of a thread that makes pictures.
struct PictureScratch {
  ByteBuffer resized, changed;
  Renderer renderer;
};

// Makes the picture of a recipe, through the change of colors, out of an image's rows while they
// arrive.
class PictureSink : public RowSink {
 public:
  // Chooses the recipe for an image of this size. May throw.
  using Choose = std::function<Recipe(ImageSize)>;

  // Writes recipe.out pixels of `format` to `out`, without gaps and aligned to the size of their
  // type. All outlive the object. `keep_resized`: resize the whole image first even if one pass
  // would do, for resized().
  PictureSink(const Augment& augment, PixelFormat format, Choose choose, bool keep_resized,
              uint8_t* out, PictureScratch* scratch);

  DecodeRequest Begin(ImageSize size, bool scalable) override;
  void Row(const uint8_t* row) override { scratch_->renderer.Add(row); }
  // Call after the last row.
  void Finish();

  const Recipe& recipe() const { return recipe_; }
  // With `keep_resized`, after the last row: the image of recipe().resized pixels.
  const uint8_t* resized() const { return resized_; }

 private:
  const Augment& augment_;
  const PixelFormat format_;
  const Choose choose_;
  const bool keep_resized_;
  uint8_t* const out_;
  PictureScratch* const scratch_;
  Recipe recipe_;
  uint8_t* resized_ = nullptr;  // null: the picture is made in one pass
};

// Applies the rest of a recipe, through the change of colors, to an image of recipe.resized pixels.
// Operations need UINT8 with 1 or 3 channels, changes of colors UINT8 with 3.
void FinishPicture(const Recipe& recipe, DataConfig::Filter filter, PixelFormat format,
                   const uint8_t* resized, uint8_t* out, PictureScratch* scratch);

}  // namespace gf

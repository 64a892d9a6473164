#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "data/image/byte_buffer.h"
#include "data/image/image.h"
#include "data/image/resample.h"

namespace gf {

// Describes how to make a picture from an image: a part of the image is resampled, placed on zeros
// and optionally mirrored left to right.
struct View {
  // Size of the picture.
  ImageSize size;
  // The part in pixels of the image, and the position of its first output in the picture.
  Axis y, x;
  int top = 0, left = 0;
  bool mirrored = false;
  DataConfig::Filter filter = DataConfig::TRIANGLE;
  // UINT8: resample first horizontally, then vertically; round to whole levels after each pass; use
  // weights in units of 2^-22. With TRIANGLE and LANCZOS the result equals PIL's Image.resize bit
  // for bit. If not exact, the fastest method is used, sums of floats; most pixels are the same.
  // Other types have sums of floats in any case.
  bool exact = false;

  // Whether no part of the image is visible.
  bool Empty() const { return y.outputs <= 0 || x.outputs <= 0; }
  // Whether the picture's pixels are unchanged pixels of the image.
  bool Copies() const { return y.Copies() && x.Copies(); }
  // The view that shows nearly the same of the image decoded at 1 / denominator of its size.
  View Reduced(int denominator) const;
  // The largest denominator at which the view does not enlarge the decoded image.
  int LargestReduction() const;
};

// Makes the picture while the image's rows arrive; never holds the whole image. Each thread needs
// its own, which it can reuse for many images.
class Renderer {
 public:
  // Begins a picture of this format, written to `out` (rows without gaps), which is aligned to the
  // size of its type. Returns the part of the image whose rows must be passed to Add, from top to
  // bottom, and the form of their pixels.
  DecodeRequest Start(const View& view, PixelFormat format, uint8_t* out);
  void Add(const uint8_t* row);

 private:
  void CopyRow(const uint8_t* row);
  void AddTo(int output, int tap, const uint8_t* row);
  // With integers: the row after horizontal resampling.
  const uint8_t* CombineRow(const uint8_t* row);
  void FinishRow(int output);
  size_t Sums(int output) const { return (output % ring_) * sums_stride_; }
  // Address of the image's part in an output row.
  uint8_t* Place(int output) const;

  View view_;
  PixelFormat format_;
  uint8_t* out_ = nullptr;

  int next_row_ = 0;  // number of the next row, counted from the first row of the window
  // Resampling adds weighted rows to the outputs [first_open_, next_output_).
  Taps y_, x_;
  bool fixed_ = false;   // the sums are integers
  bool padded_ = false;  // the rows have an unused byte per pixel
  int lanes_ = 4;        // numbers of a pixel in the rows
  int width_ = 0;        // width of the rows that are added
  int first_open_ = 0, next_output_ = 0, ring_ = 1;
  size_t sums_stride_ = 0;
  std::vector<float> sums_, combined_;
  std::vector<int32_t> fixed_sums_, fixed_row_, fixed_combined_;
  ByteBuffer row_, rounded_;
};

// Makes a picture from pixels in memory, in their format. `pixels` and `out` are aligned to the
// size of their type and must not overlap.
void RenderPixels(const void* pixels, ImageSize size, PixelFormat format, const View& view,
                  Renderer* renderer, void* out);

// The view that resizes a whole image.
View WholeView(ImageSize size, ImageSize to, DataConfig::Filter filter);

}  // namespace gf

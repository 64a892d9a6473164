#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "data/image/byte_buffer.h"
#include "data/image/image.h"
#include "data/image/resample.h"

namespace gf {

// How a picture comes from an image: a part of the image, resampled, is placed on zeros and
// mirrored left to right.
struct View {
  // Of the picture.
  ImageSize size;
  // The part, in pixels of the image, and where its first output lies in the picture.
  Axis y, x;
  int top = 0, left = 0;
  bool mirrored = false;
  DataConfig::Filter filter = DataConfig::TRIANGLE;
  // Resampled first from left to right, then from top to bottom, each rounded to whole levels and
  // with weights in units of 2^-22: with TRIANGLE and LANCZOS the bits that PIL's Image.resize
  // gives. Otherwise as is quickest; most pixels are the same.
  bool exact = false;

  // Whether nothing of the image is seen.
  bool Empty() const { return y.outputs <= 0 || x.outputs <= 0; }
  // Whether the picture's pixels are pixels of the image.
  bool Copies() const { return y.Copies() && x.Copies(); }
  // The view of the image at 1 / denominator of its size that shows nearly the same.
  View Reduced(int denominator) const;
  // The largest denominator at which the view still does not enlarge the image.
  int LargestReduction() const;
};

// Makes the picture while the image's rows come in; never holds the image. One per thread,
// used for one image after another.
class Renderer {
 public:
  // Begins a picture of 1 or 3 channels, written to `out` (rows without gaps). Returns the part
  // of the image whose rows must be given to Add, from top to bottom, and their pixels' form.
  DecodeRequest Start(const View& view, int channels, uint8_t* out);
  void Add(const uint8_t* row);

 private:
  void CopyRow(const uint8_t* row);
  void AddTo(int output, int tap, const uint8_t* row);
  // The row resampled from left to right, of an exact view.
  const uint8_t* CombineRow(const uint8_t* row);
  void FinishRow(int output);
  size_t Sums(int output) const { return (output % ring_) * sums_stride_; }
  // Where an output row's part of the image lies.
  uint8_t* Place(int output) const;

  View view_;
  int channels_ = 3;
  uint8_t* out_ = nullptr;

  int next_row_ = 0;  // the number of the row that comes next, counted from the window's first
  // Resampling: rows are added up, each weighted, to the outputs [first_open_, next_output_).
  Taps y_, x_;
  int lanes_ = 4;
  int width_ = 0;  // of the rows that are added up
  int first_open_ = 0, next_output_ = 0, ring_ = 1;
  size_t sums_stride_ = 0;
  std::vector<float> sums_, combined_;
  std::vector<int32_t> fixed_sums_, fixed_row_, fixed_combined_;
  ByteBuffer row_, rounded_;
};

// Makes a picture of pixels in memory. `pixels` and `out` must not overlap.
void RenderPixels(const uint8_t* pixels, ImageSize size, int channels, const View& view,
                  Renderer* renderer, uint8_t* out);

// The view of a whole image at another size.
View WholeView(ImageSize size, ImageSize to, DataConfig::Filter filter);

}  // namespace gf

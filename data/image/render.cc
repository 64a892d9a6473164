#include "data/image/render.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/image/cache_lines.h"
#include "data/image/pixel_kernels.h"
#include "data/image/resample_kernels.h"

namespace gf {
namespace {

// Number of rows to prefetch.
constexpr int kAhead = 8;

Axis ReducedAxis(Axis axis, int denominator) {
  axis.begin /= denominator;
  axis.scale /= denominator;
  axis.low /= denominator;
  axis.high = (axis.high + denominator - 1) / denominator;
  return axis;
}

// Maximum number of outputs that are open at the same time.
int OpenOutputs(const Taps& taps) {
  int most = 1;
  for (int i = 0, first = 0; i < taps.outputs(); ++i) {
    while (taps.starts()[first] + taps.count(first) <= taps.starts()[i]) ++first;
    most = std::max(most, i - first + 1);
  }
  return most;
}

// `bytes`: of a pixel.
void MirrorPixels(const uint8_t* from, int64_t pixels, int64_t bytes, uint8_t* to) {
  if (bytes == 3) {
    PixelTable().mirror(from, pixels, to);
  } else if (bytes == 1) {
    std::reverse_copy(from, from + pixels, to);
  } else {
    for (const uint8_t* pixel = from + pixels * bytes; pixel != from; to += bytes) {
      pixel -= bytes;
      std::memcpy(to, pixel, bytes);
    }
  }
}

const RowLoops<float>& FloatRows(PixelFormat format) {
  return ResampleTable().rows[static_cast<int>(format.type)];
}

// Passes rows to a renderer.
class RenderSink : public RowSink {
 public:
  RenderSink(const View& view, PixelFormat format, Renderer* renderer, uint8_t* out)
      : view_(view), format_(format), renderer_(renderer), out_(out) {}

  DecodeRequest Begin(ImageSize, bool) override { return renderer_->Start(view_, format_, out_); }
  void Row(const uint8_t* row) override { renderer_->Add(row); }

 private:
  const View view_;
  const PixelFormat format_;
  Renderer* const renderer_;
  uint8_t* const out_;
};

}  // namespace

View View::Reduced(int denominator) const {
  View view = *this;
  view.y = ReducedAxis(y, denominator);
  view.x = ReducedAxis(x, denominator);
  return view;
}

int View::LargestReduction() const {
  int denominator = 1;
  while (denominator < 8 && std::min(y.scale, x.scale) >= 2 * denominator) denominator *= 2;
  return denominator;
}

DecodeRequest Renderer::Start(const View& view, PixelFormat format, uint8_t* out) {
  static_assert(kMaxChannels <= ResampleKernels::kMostLanes);
  view_ = view;
  format_ = format;
  out_ = out;
  next_row_ = 0;
  if (view.y.outputs < view.size.height || view.x.outputs < view.size.width) {
    std::memset(out, 0, view.size.pixels() * format.bytes());
  }
  DecodeRequest request;
  request.format = format;
  if (view.Empty()) {
    request.window = {0, 0, 1, 1};
    return request;
  }
  if (view.Copies()) {
    request.window = {static_cast<int>(view.y.begin), static_cast<int>(view.x.begin),
                      view.y.outputs, view.x.outputs};
    return request;
  }
  fixed_ = view.exact && format.type == PixelType::kUINT8;
  // Pixels of four bytes are moved and summed at once.
  padded_ = request.padded = format == PixelFormat{PixelType::kUINT8, 3};
  lanes_ = padded_ ? 4 : format.channels;
  y_.Compute(view.y, view.filter, fixed_);
  x_.Compute(view.x, view.filter, fixed_);
  request.window = {y_.first(), x_.first(), y_.end() - y_.first(), x_.end() - x_.first()};
  width_ = fixed_ ? view.x.outputs : request.window.width;
  ring_ = OpenOutputs(y_);
  const size_t outputs = size_t(view.x.outputs) * lanes_;
  // Weights of 0 extend beyond the end of a row, where memory must hold finite numbers.
  const size_t padded = size_t(request.window.width + x_.taps()) * lanes_;
  if (fixed_) {
    sums_stride_ = outputs;
    fixed_sums_.resize(sums_stride_ * ring_);
    fixed_row_.assign(padded, 0);
    fixed_combined_.resize(outputs);
  } else {
    sums_stride_ = padded;
    sums_.assign(sums_stride_ * ring_, 0);
    combined_.resize(outputs);
  }
  first_open_ = next_output_ = 0;
  return request;
}

uint8_t* Renderer::Place(int output) const {
  const int left = view_.mirrored ? view_.size.width - view_.left - view_.x.outputs : view_.left;
  return out_ + (int64_t{view_.top + output} * view_.size.width + left) * format_.bytes();
}

void Renderer::Add(const uint8_t* row) {
  if (view_.Empty()) return;
  if (view_.Copies()) {
    CopyRow(row);
    return;
  }
  const int y = next_row_++;
  if (fixed_) row = CombineRow(row);
  while (next_output_ < y_.outputs() && y_.starts()[next_output_] <= y) ++next_output_;
  for (int i = first_open_; i < next_output_; ++i) {
    const int tap = y - y_.starts()[i];
    if (tap >= y_.count(i)) continue;
    AddTo(i, tap, row);
    if (tap + 1 == y_.count(i)) FinishRow(i);
  }
  while (first_open_ < next_output_ &&
         y_.starts()[first_open_] + y_.count(first_open_) <= next_row_) {
    ++first_open_;
  }
}

void Renderer::CopyRow(const uint8_t* row) {
  // The picture's memory is rarely in the cache, so it is prefetched while the decoder works.
  PrefetchToWrite(Place(std::min(next_row_ + kAhead, view_.y.outputs - 1)),
                  view_.x.outputs * format_.bytes());
  uint8_t* const to = Place(next_row_++);
  if (view_.mirrored) {
    MirrorPixels(row, view_.x.outputs, format_.bytes(), to);
  } else {
    std::memcpy(to, row, view_.x.outputs * format_.bytes());
  }
}

void Renderer::AddTo(int output, int tap, const uint8_t* row) {
  const int64_t count = int64_t{width_} * lanes_;
  if (fixed_) {
    ResampleTable().fixed_rows.accumulate(row, count, y_.fixed(output, tap), tap > 0,
                                          &fixed_sums_[Sums(output)]);
  } else {
    FloatRows(format_).accumulate(row, count, y_.weight(output, tap), tap > 0,
                                  &sums_[Sums(output)]);
  }
}

const uint8_t* Renderer::CombineRow(const uint8_t* row) {
  const ResampleKernels& kernels = ResampleTable();
  kernels.fixed_rows.accumulate(row, int64_t{x_.end() - x_.first()} * lanes_, 1, false,
                                fixed_row_.data());
  kernels.combine_fixed(fixed_row_.data(), lanes_, x_.starts(), x_.fixed(), x_.taps(), width_,
                        fixed_combined_.data());
  uint8_t* const rounded = row_.Reserve(size_t(width_) * lanes_);
  kernels.fixed_rows.round(fixed_combined_.data(), int64_t{width_} * lanes_, rounded);
  return rounded;
}

void Renderer::FinishRow(int output) {
  const int count = x_.outputs();
  const int64_t numbers = int64_t{count} * lanes_;
  uint8_t* const place = Place(output);
  // Pixels that are neither packed nor mirrored are rounded into the picture.
  uint8_t* rounded = place;
  if (padded_ || view_.mirrored) {
    rounded = rounded_.Reserve(numbers * SizeOf(format_.type) + count * format_.bytes());
  }
  if (fixed_) {
    ResampleTable().fixed_rows.round(&fixed_sums_[Sums(output)], numbers, rounded);
  } else {
    ResampleTable().combine(&sums_[Sums(output)], lanes_, x_.starts(), x_.weights(), x_.taps(),
                            count, combined_.data());
    FloatRows(format_).round(combined_.data(), numbers, rounded);
  }
  const uint8_t* packed = rounded;
  if (padded_) {
    uint8_t* const to = view_.mirrored ? rounded + numbers : place;
    PixelTable().pack(rounded, count, to);
    packed = to;
  }
  if (view_.mirrored) MirrorPixels(packed, count, format_.bytes(), place);
}

View WholeView(ImageSize size, ImageSize to, DataConfig::Filter filter) {
  View view;
  view.size = to;
  view.y = {to.height, 0, static_cast<double>(size.height) / to.height, 0, size.height};
  view.x = {to.width, 0, static_cast<double>(size.width) / to.width, 0, size.width};
  view.filter = filter;
  return view;
}

void RenderPixels(const void* pixels, ImageSize size, PixelFormat format, const View& view,
                  Renderer* renderer, void* out) {
  RenderSink sink(view, format, renderer, static_cast<uint8_t*>(out));
  SendRows(pixels, size, format, &sink);
}

}  // namespace gf

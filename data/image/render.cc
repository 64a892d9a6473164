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

void MirrorPixels(const uint8_t* from, int64_t pixels, int channels, uint8_t* to) {
  if (channels == 3) {
    PixelTable().mirror(from, pixels, to);
  } else {
    std::reverse_copy(from, from + pixels, to);
  }
}

// Passes rows to a renderer.
class RenderSink : public RowSink {
 public:
  RenderSink(const View& view, int channels, Renderer* renderer, uint8_t* out)
      : view_(view), channels_(channels), renderer_(renderer), out_(out) {}

  DecodeRequest Begin(ImageSize, bool) override { return renderer_->Start(view_, channels_, out_); }
  void Row(const uint8_t* row) override { renderer_->Add(row); }

 private:
  const View view_;
  const int channels_;
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

DecodeRequest Renderer::Start(const View& view, int channels, uint8_t* out) {
  view_ = view;
  channels_ = channels;
  out_ = out;
  next_row_ = 0;
  if (view.y.outputs < view.size.height || view.x.outputs < view.size.width) {
    std::memset(out, 0, view.size.pixels() * channels);
  }
  DecodeRequest request;
  if (view.Empty()) {
    request.window = {0, 0, 1, 1};
    request.pixel_bytes = channels;
    return request;
  }
  if (view.Copies()) {
    request.window = {static_cast<int>(view.y.begin), static_cast<int>(view.x.begin),
                      view.y.outputs, view.x.outputs};
    request.pixel_bytes = channels;
    return request;
  }
  y_.Compute(view.y, view.filter, view.exact);
  x_.Compute(view.x, view.filter, view.exact);
  request.window = {y_.first(), x_.first(), y_.end() - y_.first(), x_.end() - x_.first()};
  request.pixel_bytes = lanes_ = channels == 1 ? 1 : 4;
  width_ = view.exact ? view.x.outputs : request.window.width;
  ring_ = OpenOutputs(y_);
  const size_t outputs = size_t(view.x.outputs) * lanes_;
  // Weights of 0 extend beyond the end of a row, where memory must hold finite numbers.
  const size_t padded = size_t(request.window.width + x_.taps()) * lanes_;
  if (view.exact) {
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
  return out_ + (int64_t{view_.top + output} * view_.size.width + left) * channels_;
}

void Renderer::Add(const uint8_t* row) {
  if (view_.Empty()) return;
  if (view_.Copies()) {
    CopyRow(row);
    return;
  }
  const int y = next_row_++;
  if (view_.exact) row = CombineRow(row);
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
                  int64_t{view_.x.outputs} * channels_);
  uint8_t* const to = Place(next_row_++);
  if (view_.mirrored) {
    MirrorPixels(row, view_.x.outputs, channels_, to);
  } else {
    std::memcpy(to, row, size_t(view_.x.outputs) * channels_);
  }
}

void Renderer::AddTo(int output, int tap, const uint8_t* row) {
  const int64_t count = int64_t{width_} * lanes_;
  if (view_.exact) {
    ResampleTable().fixed.accumulate(row, count, y_.fixed(output, tap), tap > 0,
                                     &fixed_sums_[Sums(output)]);
  } else {
    ResampleTable().real.accumulate(row, count, y_.weight(output, tap), tap > 0,
                                    &sums_[Sums(output)]);
  }
}

const uint8_t* Renderer::CombineRow(const uint8_t* row) {
  const auto& loops = ResampleTable().fixed;
  loops.accumulate(row, int64_t{x_.end() - x_.first()} * lanes_, 1, false, fixed_row_.data());
  loops.combine(fixed_row_.data(), lanes_, x_.starts(), x_.fixed(), x_.taps(), width_,
                fixed_combined_.data());
  uint8_t* const rounded = row_.Reserve(size_t(width_) * lanes_);
  loops.round(fixed_combined_.data(), int64_t{width_} * lanes_, rounded);
  return rounded;
}

void Renderer::FinishRow(int output) {
  const int count = x_.outputs();
  uint8_t* const rounded = rounded_.Reserve(size_t(count) * (lanes_ + channels_));
  if (view_.exact) {
    ResampleTable().fixed.round(&fixed_sums_[Sums(output)], int64_t{count} * lanes_, rounded);
  } else {
    const auto& loops = ResampleTable().real;
    loops.combine(&sums_[Sums(output)], lanes_, x_.starts(), x_.weights(), x_.taps(), count,
                  combined_.data());
    loops.round(combined_.data(), int64_t{count} * lanes_, rounded);
  }
  uint8_t* packed = rounded;
  if (lanes_ == 4) {
    packed = view_.mirrored ? rounded + size_t(count) * lanes_ : Place(output);
    PixelTable().pack(rounded, count, packed);
  }
  if (view_.mirrored) {
    MirrorPixels(packed, count, channels_, Place(output));
  } else if (lanes_ == 1) {
    std::memcpy(Place(output), packed, count);
  }
}

View WholeView(ImageSize size, ImageSize to, DataConfig::Filter filter) {
  View view;
  view.size = to;
  view.y = {to.height, 0, static_cast<double>(size.height) / to.height, 0, size.height};
  view.x = {to.width, 0, static_cast<double>(size.width) / to.width, 0, size.width};
  view.filter = filter;
  return view;
}

void RenderPixels(const uint8_t* pixels, ImageSize size, int channels, const View& view,
                  Renderer* renderer, uint8_t* out) {
  RenderSink sink(view, channels, renderer, out);
  SendRows(pixels, size, channels, &sink);
}

}  // namespace gf

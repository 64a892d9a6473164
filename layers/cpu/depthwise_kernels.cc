#include "layers/cpu/depthwise_kernels.h"

#include "layers/cpu/depthwise_lanes.h"

namespace gf {
namespace {

// Pixels whose sums stay in registers.
constexpr int kTile = kNativeLanes == 4 ? 4 : 8;

// Note [Combs]
// Along an axis, results and gradients are sums of the same form. Result phase + j * step, where
// 0 <= j < count, adds up tap first + i * stride times input j * advance + offset + i * spread for
// 0 <= i < taps, as far as the input exists. Forward has one comb. A gradient has one comb per
// remainder of the pixel by the stride: dx[phase + j * stride] meets tap q of window (phase + j *
// stride + pad - q * dilation) / stride, where the division is exact for each (stride / gcd(stride,
// dilation))-th tap, or for none.
struct Comb {
  int64_t phase, step, count;
  int64_t first, stride, taps;
  int64_t advance, offset, spread;
  int64_t size;  // of the input
};

GF_INLINE Comb ForwardComb(const DepthwisePlane& p, int a) {
  return {0, 1, p.out[a], 0, 1, p.kernel[a], p.stride[a], -p.pad[a], p.dilation[a], p.in[a]};
}

GF_INLINE Comb GradientComb(const DepthwisePlane& p, int axis, int64_t phase) {
  const int64_t stride = p.stride[axis], dilation = p.dilation[axis], kernel = p.kernel[axis];
  int64_t divisor = stride, rest = dilation;  // becomes their greatest common divisor
  while (rest != 0) {
    const int64_t next = divisor % rest;
    divisor = rest;
    rest = next;
  }
  const int64_t period = stride / divisor, last = Min(period, kernel);
  int64_t first = 0;
  while (first < last && (phase + p.pad[axis] - first * dilation) % stride != 0) ++first;
  const bool found = first < last;
  Comb c;
  c.phase = phase;
  c.step = stride;
  c.count = phase < p.in[axis] ? (p.in[axis] - phase - 1) / stride + 1 : 0;
  c.first = first;
  c.stride = period;
  c.taps = found ? (kernel - first - 1) / period + 1 : 0;
  c.advance = 1;
  c.offset = found ? (phase + p.pad[axis] - first * dilation) / stride : 0;
  c.spread = -(dilation / divisor);
  c.size = p.out[axis];
  return c;
}

// What is read and written.
template <typename In, typename Out>
struct Task {
  const In* in;
  int64_t in_step;  // elements from pixel to pixel
  const float* w;
  int64_t w_step, w_width;  // elements from tap to tap; taps of a row
  const float* bias;
  bool relu;
  Out* out;
  int64_t out_step, out_width;
};

// Results `column` to `column` + kPixels - 1 of a row of the combs. kInside: all inputs exist.
template <int kPixels, bool kInside, typename L, typename In, typename Out>
GF_INLINE void Tile(const Task<In, Out>& task, const Comb& rows, const Comb& columns, int64_t row,
                    int64_t column) {
  using V = typename L::V;
  V sums[kPixels];
  const V start = task.bias != nullptr ? L::From(task.bias) : V{};
  for (int t = 0; t < kPixels; ++t) sums[t] = start;
  const int64_t advance = columns.advance * task.in_step;
  for (int64_t r = 0; r < rows.taps; ++r) {
    const int64_t h = row * rows.advance + rows.offset + r * rows.spread;
    if (h < 0 || h >= rows.size) continue;
    const In* line = task.in + h * columns.size * task.in_step;
    const float* w = task.w + (rows.first + r * rows.stride) * task.w_width * task.w_step;
    for (int64_t q = 0; q < columns.taps; ++q) {
      const int64_t v = column * columns.advance + columns.offset + q * columns.spread;
      if (!kInside && (v < 0 || v >= columns.size)) continue;
      const V weight = L::From(w + (columns.first + q * columns.stride) * task.w_step);
      const In* pixel = line + v * task.in_step;
      for (int t = 0; t < kPixels; ++t) sums[t] += L::From(pixel + t * advance) * weight;
    }
  }
  const int64_t out_row = rows.phase + row * rows.step;
  const int64_t out_column = columns.phase + column * columns.step;
  Out* out = task.out + (out_row * task.out_width + out_column) * task.out_step;
  for (int t = 0; t < kPixels; ++t) {
    const V sum = task.relu ? L::Positive(sums[t]) : sums[t];
    L::To(out + t * columns.step * task.out_step, sum);
  }
}

// Results [begin, end) of a row, whose inputs all exist.
template <int kPixels, typename L, typename In, typename Out>
GF_INLINE void Tiles(const Task<In, Out>& task, const Comb& rows, const Comb& columns, int64_t row,
                     int64_t begin, int64_t end) {
  int64_t column = begin;
  for (; column + kPixels <= end; column += kPixels) {
    Tile<kPixels, true, L>(task, rows, columns, row, column);
  }
  if constexpr (kPixels > 1) Tiles<kPixels / 2, L>(task, rows, columns, row, column, end);
}

template <typename L, typename In, typename Out>
GF_INLINE void Correlate(const Task<In, Out>& task, const Comb& rows, const Comb& columns) {
  const int64_t reach = (columns.taps - 1) * columns.spread;
  const Range inside = columns.taps > 0
                           ? Inside(columns.offset + Min(0, reach), columns.offset + Max(0, reach),
                                    columns.advance, columns.size, columns.count)
                           : Range{0, columns.count};
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int64_t c = 0; c < inside.begin; ++c) Tile<1, false, L>(task, rows, columns, row, c);
    Tiles<kTile, L>(task, rows, columns, row, inside.begin, inside.end);
    for (int64_t c = inside.end; c < columns.count; ++c) {
      Tile<1, false, L>(task, rows, columns, row, c);
    }
  }
}

template <typename T>
void Forward(const DepthwisePlane& p, const T* x, const float* w, const float* bias, bool relu,
             T* y) {
  ForLanes(p.lanes, [&](auto lanes, int l) {
    const Task<T, T> task = {
        x + l, p.x_step, w + l,    p.lanes, p.kernel[1], bias != nullptr ? bias + l : nullptr,
        relu,  y + l,    p.y_step, p.out[1]};
    Correlate<decltype(lanes)>(task, ForwardComb(p, 0), ForwardComb(p, 1));
  });
}

template <typename T, typename Out>
void BackwardData(const DepthwisePlane& p, const T* dy, const float* w, Out* dx) {
  ForLanes(p.lanes, [&](auto lanes, int l) {
    const Task<T, Out> task = {dy + l,  p.y_step, w + l,  p.lanes,  p.kernel[1],
                               nullptr, false,    dx + l, p.x_step, p.in[1]};
    for (int64_t i = 0; i < Min(p.stride[0], p.in[0]); ++i) {
      const Comb rows = GradientComb(p, 0, i);
      for (int64_t j = 0; j < Min(p.stride[1], p.in[1]); ++j) {
        Correlate<decltype(lanes)>(task, rows, GradientComb(p, 1, j));
      }
    }
  });
}

}  // namespace

GF_SIMD_DEFINE(DepthwiseKernels, DepthwiseTable) = {
    {&Forward<float>, &BackwardData<float, float>, &BackwardData<float, float>},
    {&Forward<uint16_t>, &BackwardData<uint16_t, uint16_t>, &BackwardData<uint16_t, float>}};

}  // namespace gf

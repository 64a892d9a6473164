#include "layers/cpu/depthwise_lanes.h"

namespace gf {
namespace {

// Adds the products of one pixel of a row of dy to the sums of the taps that exist.
template <int kTaps, int kPixels, typename L, typename T>
GF_INLINE void BorderWeights(const DepthwisePlane& p, int64_t first, int64_t pixel, const T* x,
                             const T* dy, typename L::V (*sums)[kPixels]) {
  const typename L::V gradient = L::From(dy + pixel * p.y_step);
  for (int t = 0; t < kTaps; ++t) {
    const int64_t v = pixel * p.stride[1] + first + t * p.dilation[1];
    if (v >= 0 && v < p.in[1]) sums[t][0] += gradient * L::From(x + v * p.x_step);
  }
}

// Gradients of neighboring taps of a row of filters. `first`: where the first tap of the first
// pixel of dy lies in x. `inside`: the pixels of dy for which all taps exist. The sums of kPixels
// neighbors are separate, so that additions need not wait for each other.
template <int kTaps, int kPixels, typename L, typename T>
GF_INLINE void RowWeights(const DepthwisePlane& p, int64_t first, const Range& inside, const T* x,
                          const T* dy, float* dw) {
  using V = typename L::V;
  V sums[kTaps][kPixels] = {};
  const int64_t spread = p.dilation[1] * p.x_step, advance = p.stride[1] * p.x_step;
  int64_t i = 0;
  for (; i < inside.begin; ++i) BorderWeights<kTaps, kPixels, L>(p, first, i, x, dy, sums);
  for (; i + kPixels <= inside.end; i += kPixels) {
    const T* at = x + i * advance + first * p.x_step;
    for (int k = 0; k < kPixels; ++k) {
      const V gradient = L::From(dy + (i + k) * p.y_step);
      for (int t = 0; t < kTaps; ++t) {
        sums[t][k] += gradient * L::From(at + k * advance + t * spread);
      }
    }
  }
  for (; i < p.out[1]; ++i) BorderWeights<kTaps, kPixels, L>(p, first, i, x, dy, sums);
  for (int t = 0; t < kTaps; ++t) {
    V sum = sums[t][0];
    for (int k = 1; k < kPixels; ++k) sum += sums[t][k];
    L::To(dw + t * p.lanes, L::From(dw + t * p.lanes) + sum);
  }
}

// The same for all rows.
template <int kTaps, int kPixels, typename L, typename T>
GF_INLINE void TapWeights(const DepthwisePlane& p, int64_t tap, const T* x, const T* dy,
                          float* dw) {
  const int64_t first = tap * p.dilation[1] - p.pad[1];
  const Range inside =
      Inside(first, first + (kTaps - 1) * p.dilation[1], p.stride[1], p.in[1], p.out[1]);
  for (int64_t i = 0; i < p.out[0]; ++i) {
    for (int64_t r = 0; r < p.kernel[0]; ++r) {
      const int64_t h = i * p.stride[0] - p.pad[0] + r * p.dilation[0];
      if (h < 0 || h >= p.in[0]) continue;
      RowWeights<kTaps, kPixels, L>(p, first, inside, x + h * p.in[1] * p.x_step,
                                    dy + i * p.out[1] * p.y_step,
                                    dw + (r * p.kernel[1] + tap) * p.lanes);
    }
  }
}

// The same for taps [*tap, *tap + kTaps), [*tap + kTaps, ...) of the rows, as long as there are so
// many.
template <int kTaps, int kPixels, typename L, typename T>
GF_INLINE void ManyWeights(const DepthwisePlane& p, int64_t* tap, const T* x, const T* dy,
                           float* dw) {
  for (; *tap + kTaps <= p.kernel[1]; *tap += kTaps) {
    TapWeights<kTaps, kPixels, L>(p, *tap, x, dy, dw);
  }
}

template <typename L, typename T>
GF_INLINE void Biases(const DepthwisePlane& p, const T* dy, float* dbias) {
  constexpr int kPixels = 4;
  typename L::V sums[kPixels] = {};
  const int64_t count = p.out[0] * p.out[1];
  int64_t i = 0;
  for (; i + kPixels <= count; i += kPixels) {
    for (int k = 0; k < kPixels; ++k) sums[k] += L::From(dy + (i + k) * p.y_step);
  }
  for (; i < count; ++i) sums[0] += L::From(dy + i * p.y_step);
  L::To(dbias, L::From(dbias) + ((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

template <typename T>
void BackwardWeights(const DepthwisePlane& p, const T* x, const T* dy, float* dw, float* dbias) {
  ForLanes(p.lanes, [&](auto lanes, int l) {
    using L = decltype(lanes);
    int64_t tap = 0;
    ManyWeights<7, 1, L>(p, &tap, x + l, dy + l, dw + l);
    ManyWeights<5, 2, L>(p, &tap, x + l, dy + l, dw + l);
    ManyWeights<3, 2, L>(p, &tap, x + l, dy + l, dw + l);
    ManyWeights<1, 4, L>(p, &tap, x + l, dy + l, dw + l);
    if (dbias == nullptr) return;
    Biases<L>(p, dy + l, dbias + l);
  });
}

}  // namespace

GF_SIMD_DEFINE(DepthwiseWeightsKernels, DepthwiseWeightsTable) = {&BackwardWeights<float>,
                                                                  &BackwardWeights<uint16_t>};

}  // namespace gf

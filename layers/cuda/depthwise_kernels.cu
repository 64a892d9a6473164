#include <utility>

#include "layers/cuda/depthwise_tiles_inline.h"

namespace gf {
namespace {

template <typename T>
struct Epilogue {
  const T* bias;  // may be null
  bool relu;

  template <int kCount>
  __device__ void Begin(int channel, Floats<kCount>* sums) const {
    const Floats<kCount> start =
        bias != nullptr ? LoadFloats<kCount>(bias + channel) : Floats<kCount>{};
#pragma unroll
    for (int t = 0; t < kTile; ++t) sums[t] = start;
  }
  template <int kCount>
  __device__ void End(Floats<kCount>* sums) const {
    if (!relu) return;
#pragma unroll
    for (int t = 0; t < kTile; ++t) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[t].v[k] = sums[t].v[k] < 0 ? 0 : sums[t].v[k];
    }
  }
};

// Filters of kKernel x kKernel at distances of kStride, one per channel. A thread loads each input
// of its tile once per row, and holds only those kStride columns apart at a time.
template <typename T, int kKernel, int kStride>
struct FixedForward {
  static constexpr int kCount = kPack<T>;
  Images<const T> x;
  Images<T> y;
  int pad[2];
  Epilogue<T> epilogue;

  // `w`: the filter of this channel; `step`: numbers from tap to tap.
  __device__ void Run(const TilePixels& at, int channel, const float* w, int step) const {
    constexpr int kMostColumns = kTile - 1 + (kKernel + kStride - 1) / kStride;
    Floats<kCount> sums[kTile];
    epilogue.Begin(channel, sums);
    const T* const image = x.At(at.image, channel);
    const int top = at.row * kStride - pad[0], left = at.column * kStride - pad[1];
#pragma unroll 1
    for (int r = 0; r < kKernel; ++r) {
      if (static_cast<unsigned>(top + r) >= static_cast<unsigned>(x.height)) continue;
#pragma unroll
      for (int first = 0; first < kStride; ++first) {
        const int taps = (kKernel - first + kStride - 1) / kStride;
        Pack<T, kCount> inputs[kMostColumns] = {};
#pragma unroll
        for (int j = 0; j < kMostColumns; ++j) {
          const int column = left + first + j * kStride;
          if (j < kTile - 1 + taps && x.Has(top + r, column)) {
            inputs[j] = LoadPack<kCount>(image + x.Offset(top + r, column));
          }
        }
#pragma unroll
        for (int m = 0; m < kMostColumns - kTile + 1; ++m) {
          if (m >= taps) continue;
          const Floats<kCount> tap =
              LoadFloats<kCount>(w + (r * kKernel + first + m * kStride) * step);
#pragma unroll
          for (int t = 0; t < kTile; ++t) MultiplyAdd(ToFloats(inputs[t + m]), tap, &sums[t]);
        }
      }
    }
    epilogue.End(sums);
    StoreTile(y, at, channel, sums);
  }
};

// Any filters.
template <typename T, int kPackCount>
struct AnyForward {
  static constexpr int kCount = kPackCount;
  DepthwiseWindow window;
  FastDivide multiplier;
  Images<const T> x;
  Images<T> y;
  Epilogue<T> epilogue;

  __device__ void Run(const TilePixels& at, int channel, const float* w, int step) const {
    Floats<kCount> sums[kTile];
    epilogue.Begin(channel, sums);
    const T* const image = x.At(at.image, static_cast<int>(multiplier.Quotient(channel)));
    const int top = window.Begin(0, at.row), left = window.Begin(1, at.column);
    for (int r = 0; r < window.kernel[0]; ++r) {
      const int h = top + r * window.dilation[0];
      for (int q = 0; q < window.kernel[1]; ++q, w += step) {
        const Floats<kCount> tap = LoadFloats<kCount>(w);
#pragma unroll
        for (int t = 0; t < kTile; ++t) {
          const int v = left + t * window.stride[1] + q * window.dilation[1];
          if (x.Has(h, v)) MultiplyAdd(LoadFloats<kCount>(image + x.Offset(h, v)), tap, &sums[t]);
        }
      }
    }
    epilogue.End(sums);
    StoreTile(y, at, channel, sums);
  }
};

// Any filters: every input gathers from the windows over it.
template <typename T, int kPackCount>
struct Gather {
  static constexpr int kCount = kPackCount;
  DepthwiseWindow window;
  FastDivide stride[2];
  int multiplier;
  Images<T> dx;
  Images<const T> dy;

  // The window whose first input is `at` along an axis; negative if there is none.
  __device__ int WindowAt(int axis, int at, int count) const {
    if (at < 0) return -1;
    const FastDivide::Result window_at = stride[axis].Divide(at);
    const int index = static_cast<int>(window_at.quotient);
    return window_at.remainder == 0 && index < count ? index : -1;
  }

  // `w`: the filters of this channel.
  __device__ void Run(const TilePixels& at, int channel, const float* w, int step) const {
    Floats<kCount> sums[kTile] = {};
    const T* const image = dy.At(at.image, channel * multiplier);
    for (int r = 0; r < window.kernel[0]; ++r) {
      const int h = WindowAt(0, at.row + window.pad[0] - r * window.dilation[0], dy.height);
      if (h < 0) {
        w += window.kernel[1] * step;
        continue;
      }
      for (int q = 0; q < window.kernel[1]; ++q, w += step) {
        const int left = at.column + window.pad[1] - q * window.dilation[1];
        int columns[kTile];
#pragma unroll
        for (int t = 0; t < kTile; ++t) columns[t] = WindowAt(1, left + t, dy.width);
        for (int k = 0; k < multiplier; ++k) {
          const Floats<kCount> tap = LoadFloats<kCount>(w + k);
#pragma unroll
          for (int t = 0; t < kTile; ++t) {
            if (columns[t] < 0) continue;
            MultiplyAdd(LoadFloats<kCount>(image + dy.Offset(h, columns[t]) + k), tap, &sums[t]);
          }
        }
      }
    }
    StoreTile(dx, at, channel, sums);
  }
};

// Calls f(kernel, stride) with constants if there is a FixedForward for the window; returns whether
// there is.
template <typename F>
bool WithFixed(const DepthwiseWindow& w, const F& f) {
  for (int axis = 0; axis < 2; ++axis) {
    if (w.kernel[axis] != w.kernel[0] || w.stride[axis] != w.stride[0]) return false;
    if (w.dilation[axis] != 1) return false;
  }
  constexpr std::integral_constant<int, 1> one{};
  constexpr std::integral_constant<int, 2> two{};
  constexpr std::integral_constant<int, 3> three{};
  constexpr std::integral_constant<int, 5> five{};
  if (w.stride[0] != 1 && w.stride[0] != 2) return false;
  if (w.kernel[0] == 3) {
    w.stride[0] == 1 ? f(three, one) : f(three, two);
    return true;
  }
  if (w.kernel[0] == 5) {
    w.stride[0] == 1 ? f(five, one) : f(five, two);
    return true;
  }
  return false;
}

template <typename T>
void RunForward(const ConvolutionShape& s, const void* x, const void* w, bool flip,
                const Epilogue<T>& epilogue, void* y, cudaStream_t stream) {
  const DepthwiseWindow window(s);
  const Images<const T> images = ImagesOf(s, static_cast<const T*>(x));
  const Images<T> results = ResultsOf(s, static_cast<T*>(y));
  const int taps = window.kernel[0] * window.kernel[1];
  WithDepthwisePacks<T>(s, [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    if constexpr (kCount > 1) {
      const bool fixed = WithFixed(window, [&](auto kernel, auto step) {
        const FixedForward<T, decltype(kernel)::value, decltype(step)::value> f = {
            images, results, {window.pad[0], window.pad[1]}, epilogue};
        ForTiles<T>(s.n, results, 1, taps, flip, w, f, stream);
      });
      if (fixed) return;
    }
    const AnyForward<T, kCount> f = {window, FastDivide(static_cast<uint32_t>(MultiplierOf(s))),
                                     images, results, epilogue};
    ForTiles<T>(s.n, results, 1, taps, flip, w, f, stream);
  });
}

template <typename T>
void RunGather(const ConvolutionShape& s, void* dx, const void* w, const void* dy,
               cudaStream_t stream) {
  const DepthwiseWindow window(s);
  const Images<T> images = ImagesOf(s, static_cast<T*>(dx));
  WithDepthwisePacks<T>(s, [&](auto count) {
    const Gather<T, decltype(count)::value> f = {
        window,
        {FastDivide(static_cast<uint32_t>(window.stride[0])),
         FastDivide(static_cast<uint32_t>(window.stride[1]))},
        MultiplierOf(s),
        images,
        ResultsOf(s, static_cast<const T*>(dy))};
    ForTiles<T>(s.n, images, MultiplierOf(s), window.kernel[0] * window.kernel[1], false, w, f,
                stream);
  });
}

}  // namespace

bool DepthwiseFits(const ConvolutionShape& s) {
  return s.groups == s.channels && s.outputs % s.channels == 0 &&
         s.outputs / s.channels <= kMostDepthwiseMultiplier &&
         s.kernel[0] * s.kernel[1] <= kMostDepthwiseTaps && s.w_count() <= INT32_MAX &&
         s.x_count() / s.n <= INT32_MAX && s.y_count() / s.n <= INT32_MAX;
}

void DepthwiseForward(const ConvolutionShape& shape, DType type, const void* x, const void* w,
                      const void* bias, bool relu, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    RunForward<T>(shape, x, w, false, {static_cast<const T*>(bias), relu}, y, stream);
  });
}

// With a stride of one the gradient is a convolution of dy with turned filters.
void DepthwiseBackwardData(const ConvolutionShape& shape, DType type, void* dx, const void* w,
                           const void* dy, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    if (shape.stride[0] != 1 || shape.stride[1] != 1 || shape.outputs != shape.channels) {
      return RunGather<T>(shape, dx, w, dy, stream);
    }
    ConvolutionShape turned = shape;
    for (int axis = 0; axis < 2; ++axis) {
      std::swap(turned.in[axis], turned.out[axis]);
      turned.pad[axis] = shape.dilation[axis] * (shape.kernel[axis] - 1) - shape.pad[axis];
    }
    RunForward<T>(turned, dy, w, true, {nullptr, false}, dx, stream);
  });
}

}  // namespace gf

#include "layers/cuda/pooling_inline.h"

namespace gf {
namespace {

// The largest value so far and its tap: the first among equal values, the last among NaNs.
template <typename Tap, int kCount>
struct Largest {
  Floats<kCount> value;
  int which[kCount];

  __device__ explicit Largest(int first_tap) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      value.v[k] = -INFINITY;
      which[k] = first_tap;
    }
  }
  __device__ void Take(const Floats<kCount>& v, int tap) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const bool larger = v.v[k] > value.v[k] || v.v[k] != v.v[k];
      value.v[k] = larger ? v.v[k] : value.v[k];
      which[k] = larger ? tap : which[k];
    }
  }
  // `taps` may be null.
  template <typename T>
  __device__ void Store(T* y, Tap* taps) const {
    StoreFloats(y, value);
    if (taps == nullptr) return;
    Pack<Tap, kCount> pack;
#pragma unroll
    for (int k = 0; k < kCount; ++k) pack.v[k] = static_cast<Tap>(which[k]);
    *reinterpret_cast<Pack<Tap, kCount>*>(taps) = pack;
  }
};

template <typename T, typename Tap, int kCount>
struct MaxForward {
  PoolingWindows windows;
  ImagePlaces<kCount> places;
  Images<const T> x;
  Images<T> y;
  Tap* taps;

  __device__ void Run(int64_t first, uint32_t i) const {
    const Place out = places.At(first, i);
    const auto rows = windows.Window(0, out.y), columns = windows.Window(1, out.x);
    const int top = windows.Begin(0, out.y), left = windows.Begin(1, out.x);
    const int across = windows.p.kernel[1];
    const T* const image = x.At(out.image, out.channel);
    Largest<Tap, kCount> best((rows.begin - top) * across + columns.begin - left);
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        best.Take(LoadFloats<kCount>(image + x.Offset(h, w)), (h - top) * across + w - left);
      }
    }
    T* const to = y.At(out.image, out.channel) + y.Offset(out.y, out.x);
    best.Store(to, taps == nullptr ? nullptr : taps + (to - y.data));
  }
};

// The same for windows of kKernel x kKernel at distances of kStride that all contain a pixel. Taps
// outside the image repeat the nearest pixel of the window, which does not change the result.
template <typename T, int kKernel, int kStride>
struct FixedMaxForward {
  static constexpr int kCount = kPack<T>;
  ImagePlaces<kCount> places;
  Images<const T> x;
  Images<T> y;
  uint8_t* taps;
  int pad[2];

  __device__ void Run(int64_t first, uint32_t i) const {
    const Place out = places.At(first, i);
    const int top = out.y * kStride - pad[0], left = out.x * kStride - pad[1];
    const T* const image = x.At(out.image, out.channel);
    Largest<uint8_t, kCount> best(max(-top, 0) * kKernel + max(-left, 0));
#pragma unroll
    for (int r = 0; r < kKernel; ++r) {
      const int h = min(max(top + r, 0), x.height - 1);
#pragma unroll
      for (int c = 0; c < kKernel; ++c) {
        const int w = min(max(left + c, 0), x.width - 1);
        best.Take(LoadFloats<kCount>(image + x.Offset(h, w)), (h - top) * kKernel + w - left);
      }
    }
    T* const to = y.At(out.image, out.channel) + y.Offset(out.y, out.x);
    best.Store(to, taps == nullptr ? nullptr : taps + (to - y.data));
  }
};

template <typename T, typename Tap, int kCount>
struct MaxBackward {
  PoolingWindows windows;
  ImagePlaces<kCount> places;
  Images<T> dx;
  Images<const T> dy;
  const T* y;
  const Tap* taps;

  __device__ void Run(int64_t first, uint32_t i) const {
    const Place in = places.At(first, i);
    const auto rows = windows.Windows(0, in.y), columns = windows.Windows(1, in.x);
    const int64_t image = dy.At(in.image, in.channel) - dy.data;
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const int64_t at = image + dy.Offset(h, w);
        const auto which = *reinterpret_cast<const Pack<Tap, kCount>*>(taps + at);
        Floats<kCount> g = LoadFloats<kCount>(dy.data + at), out;
        if (y != nullptr) out = LoadFloats<kCount>(y + at);
        const int tap =
            (in.y - windows.Begin(0, h)) * windows.p.kernel[1] + in.x - windows.Begin(1, w);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const bool taken = which.v[k] == tap && (y == nullptr || out.v[k] > 0);
          sum.v[k] += taken ? g.v[k] : 0;
        }
      }
    }
    StoreFloats(dx.At(in.image, in.channel) + dx.Offset(in.y, in.x), sum);
  }
};

// The same for windows of kKernel x kKernel at distances of kStride. A thread handles a block of
// kStride x kStride inputs. Block k along an axis begins at input k * kStride - pad; windows k -
// kReach to k cover it, and each is loaded once. Input a of the block is tap a + j * kStride of
// window k - j.
template <typename T, int kKernel, int kStride>
struct FixedMaxBackward {
  static constexpr int kCount = kPack<T>, kReach = (kKernel - 1) / kStride;
  ImagePlaces<kCount> places;  // places of blocks, from `begin` on
  Images<T> dx;
  Images<const T> dy;
  const T* y;
  const uint8_t* taps;
  int begin[2], pad[2];

  // The data of one window: dy, and the taps as bytes of words.
  struct Window {
    Floats<kCount> g;
    Pack<uint32_t, kCount / 4> which;

    __device__ int Tap(int k) const { return which.v[k / 4] >> (k % 4 * 8) & 255; }
  };

  // Windows outside the output have no tap: they read the nearest window, and the result is unused.
  __device__ Window Load(const T* gradients, int h, int w) const {
    const int64_t at = gradients - dy.data +
                       dy.Offset(min(max(h, 0), dy.height - 1), min(max(w, 0), dy.width - 1));
    Window window;
    window.g = LoadFloats<kCount>(dy.data + at);
    window.which = *reinterpret_cast<const Pack<uint32_t, kCount / 4>*>(taps + at);
    if (y != nullptr) {
      const Floats<kCount> out = LoadFloats<kCount>(y + at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) window.g.v[k] = out.v[k] > 0 ? window.g.v[k] : 0;
    }
    const uint32_t none = dy.Has(h, w) ? 0 : ~uint32_t{0};
#pragma unroll
    for (int k = 0; k < kCount / 4; ++k) window.which.v[k] |= none;
    return window;
  }

  __device__ void Run(int64_t first, uint32_t item) const {
    const Place at = places.At(first, item);
    const int block_y = begin[0] + at.y, block_x = begin[1] + at.x;
    const T* const gradients = dy.At(at.image, at.channel);
    Floats<kCount> sums[kStride][kStride] = {};
#pragma unroll
    for (int j = kReach; j >= 0; --j) {
      Window row[kReach + 1];
#pragma unroll
      for (int i = 0; i <= kReach; ++i) row[i] = Load(gradients, block_y - j, block_x - i);
#pragma unroll
      for (int i = kReach; i >= 0; --i) {
#pragma unroll
        for (int a = 0; a < kStride; ++a) {
#pragma unroll
          for (int b = 0; b < kStride; ++b) {
            const int tap_y = a + j * kStride, tap_x = b + i * kStride;
            if (tap_y >= kKernel || tap_x >= kKernel) continue;
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
              const bool taken = row[i].Tap(k) == tap_y * kKernel + tap_x;
              sums[a][b].v[k] += taken ? row[i].g.v[k] : 0;
            }
          }
        }
      }
    }
    T* const to = dx.At(at.image, at.channel);
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
        const int in_y = block_y * kStride - pad[0] + a, in_x = block_x * kStride - pad[1] + b;
        if (dx.Has(in_y, in_x)) StoreFloats(to + dx.Offset(in_y, in_x), sums[a][b]);
      }
    }
  }
};

// Calls run(kernel, stride), both std::integral_constant, if there is a specialized kernel for this
// window size and number of channels; returns whether there is.
template <typename T, typename F>
bool RunFixed(const PoolingImages& p, const F& run) {
  if (p.channels % kPack<T> != 0) return false;
  const auto is = [&](int kernel, int stride) {
    return p.kernel[0] == kernel && p.kernel[1] == kernel && p.stride[0] == stride &&
           p.stride[1] == stride;
  };
  using std::integral_constant;
  if (is(3, 2)) return run(integral_constant<int, 3>(), integral_constant<int, 2>()), true;
  if (is(3, 1)) return run(integral_constant<int, 3>(), integral_constant<int, 1>()), true;
  if (is(2, 2)) return run(integral_constant<int, 2>(), integral_constant<int, 2>()), true;
  return false;
}

// Calls f(t, n) with a value of the type of taps and the number of channels per thread.
template <typename T, typename F>
void WithTaps(const PoolingImages& p, const F& f) {
  WithPacks<T>(p.channels, [&](auto count) {
    p.kernel[0] * p.kernel[1] <= 256 ? f(uint8_t(), count) : f(uint16_t(), count);
  });
}

}  // namespace

void MaxPool(const PoolingImages& p, DType type, const void* x, void* y, void* taps,
             cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto in = ImagesOf(p, p.in, static_cast<const T*>(x));
    const auto out = ImagesOf(p, p.out, static_cast<T*>(y));
    const bool done = RunFixed<T>(p, [&](auto kernel, auto distance) {
      const ImagePlaces<kPack<T>> places(p.n, p.out[0], p.out[1], p.channels);
      const FixedMaxForward<T, decltype(kernel)::value, decltype(distance)::value> f = {
          places, in, out, static_cast<uint8_t*>(taps), {p.pad[0], p.pad[1]}};
      ForItems(places.groups(), f, stream);
    });
    if (done) return;
    WithTaps<T>(p, [&](auto tap, auto count) {
      using Tap = decltype(tap);
      constexpr int kCount = decltype(count)::value;
      const ImagePlaces<kCount> places(p.n, p.out[0], p.out[1], p.channels);
      const MaxForward<T, Tap, kCount> f = {PoolingWindows(p), places, in, out,
                                            static_cast<Tap*>(taps)};
      ForItems(places.groups(), f, stream);
    });
  });
}

void MaxPoolGradient(const PoolingImages& p, DType type, const void* dy, const void* y,
                     const void* taps, void* dx, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto in = ImagesOf(p, p.in, static_cast<T*>(dx));
    const auto out = ImagesOf(p, p.out, static_cast<const T*>(dy));
    const auto* const tops = static_cast<const T*>(y);
    const bool done = RunFixed<T>(p, [&](auto kernel, auto distance) {
      constexpr int kStride = decltype(distance)::value;
      int begin[2], blocks[2];
      for (int axis = 0; axis < 2; ++axis) {
        begin[axis] = p.pad[axis] / kStride;
        blocks[axis] = (p.in[axis] + p.pad[axis] - 1) / kStride + 1 - begin[axis];
      }
      const ImagePlaces<kPack<T>> places(p.n, blocks[0], blocks[1], p.channels);
      const FixedMaxBackward<T, decltype(kernel)::value, kStride> f = {
          places,
          in,
          out,
          tops,
          static_cast<const uint8_t*>(taps),
          {begin[0], begin[1]},
          {p.pad[0], p.pad[1]}};
      ForItems(places.groups(), f, stream);
    });
    if (done) return;
    WithTaps<T>(p, [&](auto tap, auto count) {
      using Tap = decltype(tap);
      constexpr int kCount = decltype(count)::value;
      const ImagePlaces<kCount> places(p.n, p.in[0], p.in[1], p.channels);
      const MaxBackward<T, Tap, kCount> f = {
          PoolingWindows(p), places, in, out, tops, static_cast<const Tap*>(taps)};
      ForItems(places.groups(), f, stream);
    });
  });
}

}  // namespace gf

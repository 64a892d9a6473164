#include "layers/cpu/pooling_kernels.h"

#include <type_traits>

#include "core/simd_lanes.h"

namespace gf {
namespace {

struct Range {
  int64_t begin, end;
};

// The part of output i's window inside the image, along an axis.
GF_INLINE Range Inside(const PoolingPlane& p, int axis, int64_t i, int64_t size) {
  const int64_t begin = i * p.stride[axis] - p.pad[axis], end = begin + p.kernel[axis];
  return {begin < 0 ? 0 : begin, end > size ? size : end};
}

// Number of taps that an average divides by: the taps inside the padded image (Caffe).
GF_INLINE float AverageCount(const PoolingPlane& p, int64_t oh, int64_t ow) {
  int64_t count = 1;
  const int64_t out[2] = {oh, ow}, size[2] = {p.height, p.width};
  for (int a = 0; a < 2; ++a) {
    const int64_t begin = out[a] * p.stride[a] - p.pad[a];
    const int64_t end = begin + p.kernel[a], limit = size[a] + p.pad[a];
    count *= (end > limit ? limit : end) - begin;
  }
  return static_cast<float>(count);
}

// The window of an output pixel: its place, the part inside the image, and the number of the first
// tap there. Taps are numbered row by row, also those outside of the image.
struct OutputWindow {
  int64_t oh, ow;
  Range rows, columns;
  int64_t first_tap;
};

// Calls body(out, window) for every output pixel of the plane; `out` is its offset.
template <typename Body>
GF_INLINE void ForEachOutput(const PoolingPlane& p, const Body& body) {
  for (int64_t oh = 0; oh < p.out_height; ++oh) {
    const Range rows = Inside(p, 0, oh, p.height);
    const int64_t top = oh * p.stride[0] - p.pad[0];
    for (int64_t ow = 0; ow < p.out_width; ++ow) {
      const Range columns = Inside(p, 1, ow, p.width);
      const int64_t left = ow * p.stride[1] - p.pad[1];
      const int64_t first_tap = (rows.begin - top) * p.kernel[1] + columns.begin - left;
      body((oh * p.out_width + ow) * p.block, OutputWindow{oh, ow, rows, columns, first_tap});
    }
  }
}

// Calls body(Int<side>()) for square windows of 2 or 3 pixels per side, body(Int<0>()) for others.
template <typename Body>
GF_INLINE void WithSide(const PoolingPlane& p, const Body& body) {
  const bool square = p.kernel[0] == p.kernel[1];
  if (square && p.kernel[0] == 2) return body(Int<2>());
  if (square && p.kernel[0] == 3) return body(Int<3>());
  body(Int<0>());
}

// Calls body(in, tap) for every tap of a window; `in` is the offset of its pixel. The compiler
// unrolls windows inside the image whose side is kSide.
template <int kSide, typename Body>
GF_INLINE void ForEachTap(const PoolingPlane& p, const OutputWindow& window, const Body& body) {
  if (kSide > 0 && window.rows.end - window.rows.begin == kSide &&
      window.columns.end - window.columns.begin == kSide) {
    const int64_t first = (window.rows.begin * p.width + window.columns.begin) * p.block;
#pragma GCC unroll 3
    for (int h = 0; h < kSide; ++h) {
#pragma GCC unroll 3
      for (int w = 0; w < kSide; ++w) {
        body(first + (h * p.width + w) * p.block, h * kSide + w);
      }
    }
    return;
  }
  int64_t first_tap = window.first_tap;
  for (int64_t h = window.rows.begin; h < window.rows.end; ++h, first_tap += p.kernel[1]) {
    auto tap = static_cast<int32_t>(first_tap);
    for (int64_t w = window.columns.begin; w < window.columns.end; ++w) {
      body((h * p.width + w) * p.block, tap++);
    }
  }
}

template <typename T, typename Tap>
void MaxForward(const PoolingPlane& p, const T* x, T* y, Tap* taps) {
  WithSide(p, [&](auto side) {
    ForLanes(p.block, [&](auto lanes, int l) {
      using L = decltype(lanes);
      ForEachOutput(p, [&](int64_t out, const OutputWindow& window) {
        typename L::V best = typename L::V{} - __builtin_inff();
        typename L::I which = typename L::I{} + static_cast<int32_t>(window.first_tap);
        ForEachTap<side.kValue>(p, window, [&](int64_t in, int32_t tap) {
          const typename L::V value = L::From(x + in + l);
          // A NaN always wins, so that it stays visible.
          const auto larger = (value > best) | (value != value);
          best = larger ? value : best;
          which = larger ? typename L::I{} + tap : which;
        });
        L::To(y + out + l, best);
        if (taps != nullptr) L::ToInts(taps + out + l, which);
      });
    });
  });
}

template <typename T>
GF_INLINE void StoreSums(int64_t count, const float* sums, T* dx) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) Store(dx + i, sums[i]);
}

// Whether no two windows share a pixel.
GF_INLINE bool Apart(const PoolingPlane& p) {
  return (p.out_height == 1 || p.stride[0] >= p.kernel[0]) &&
         (p.out_width == 1 || p.stride[1] >= p.kernel[1]);
}

// Adds the gradients of taps to their pixels. value(lanes, window, out, l) gives, for the lanes [l,
// l + n) of an output, the function from a tap's number to its gradient. Windows that do not
// overlap write to dx; others add in FP32, in dx_sums if T is BF16.
template <typename T, typename Value>
GF_INLINE void Scatter(const PoolingPlane& p, float* dx_sums, T* dx, const Value& value) {
  const int64_t count = p.height * p.width * p.block;
  const auto scatter = [&](auto* to, bool add) {
    __builtin_memset(to, 0, count * sizeof(*to));
    ForLanes(p.block, [&](auto lanes, int l) {
      using L = decltype(lanes);
      ForEachOutput(p, [&](int64_t out, const OutputWindow& window) {
        const auto gradient = value(lanes, window, out, l);
        ForEachTap<0>(p, window, [&](int64_t in, int32_t tap) {
          const typename L::V g = gradient(tap);
          L::To(to + in + l, add ? L::From(to + in + l) + g : g);
        });
      });
    });
  };
  if (Apart(p)) return scatter(dx, false);
  if constexpr (sizeof(T) == sizeof(float)) return scatter(dx, true);
  scatter(dx_sums, true);
  StoreSums(count, dx_sums, dx);
}

// MaxBackward of one channel: each gradient goes to one pixel.
template <typename T, typename Tap>
void MaxBackwardOfOne(const PoolingPlane& p, const T* dy, const T* y, const Tap* taps,
                      float* dx_sums, T* dx) {
  float* sums = dx_sums;
  if constexpr (sizeof(T) == sizeof(float)) sums = dx;
  __builtin_memset(sums, 0, p.height * p.width * sizeof(float));
  ForEachOutput(p, [&](int64_t out, const OutputWindow& window) {
    if (y != nullptr && !(Load(y + out) > 0)) return;
    const int64_t h = window.oh * p.stride[0] - p.pad[0] + taps[out] / p.kernel[1];
    const int64_t w = window.ow * p.stride[1] - p.pad[1] + taps[out] % p.kernel[1];
    sums[h * p.width + w] += Load(dy + out);
  });
  if constexpr (sizeof(T) < sizeof(float)) StoreSums(p.height * p.width, sums, dx);
}

// The bits of kLanes numbers, which are moved without conversion.
template <typename Number, int kLanes>
struct BitsOf {
  typedef Number V __attribute__((vector_size(kLanes * sizeof(Number))));
  GF_INLINE V From(const void* p) {
    V bits;
    __builtin_memcpy(&bits, p, sizeof(bits));
    return bits;
  }
};

// MaxBackward of windows that share no pixel: each pixel gets the bits of a gradient, or zero.
template <typename T, typename Tap>
GF_INLINE void MaxBackwardApart(const PoolingPlane& p, const T* dy, const T* y, const Tap* taps,
                                T* dx) {
  using Unsigned = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
  using Signed = std::make_signed_t<Unsigned>;
  __builtin_memset(dx, 0, p.height * p.width * p.block * sizeof(T));
  WithSide(p, [&](auto side) {
    ForLanes(p.block, [&](auto lanes, int l) {
      constexpr int kLanes = sizeof(typename decltype(lanes)::V) / sizeof(float);
      using Bits = BitsOf<Unsigned, kLanes>;
      ForEachOutput(p, [&](int64_t out, const OutputWindow& window) {
        auto gradient = Bits::From(dy + out + l);
        // A number is positive exactly if its bits, read as a signed integer, are positive.
        if (y != nullptr) {
          gradient &= (typename Bits::V)(BitsOf<Signed, kLanes>::From(y + out + l) > 0);
        }
        const auto which =
            __builtin_convertvector(BitsOf<Tap, kLanes>::From(taps + out + l), typename Bits::V);
        ForEachTap<side.kValue>(p, window, [&](int64_t in, int32_t tap) {
          const auto bits = gradient & (typename Bits::V)(which == typename Bits::V{} +
                                                                       static_cast<Unsigned>(tap));
          __builtin_memcpy(dx + in + l, &bits, sizeof(bits));
        });
      });
    });
  });
}

template <typename T, typename Tap>
void MaxBackward(const PoolingPlane& p, const T* dy, const T* y, const Tap* taps, float* dx_sums,
                 T* dx) {
  if (p.block == 1) return MaxBackwardOfOne(p, dy, y, taps, dx_sums, dx);
  if (Apart(p)) return MaxBackwardApart(p, dy, y, taps, dx);
  Scatter(p, dx_sums, dx, [&](auto lanes, const OutputWindow&, int64_t out, int l) {
    using L = decltype(lanes);
    typename L::V gradient = L::From(dy + out + l);
    if (y != nullptr) gradient = L::From(y + out + l) > 0 ? gradient : typename L::V{};
    const typename L::I which = L::FromInts(taps + out + l);
    return [gradient, which](int32_t tap) {
      return which == typename L::I{} + tap ? gradient : typename L::V{};
    };
  });
}

template <typename T>
void AverageForward(const PoolingPlane& p, const T* x, T* y) {
  ForLanes(p.block, [&](auto lanes, int l) {
    using L = decltype(lanes);
    ForEachOutput(p, [&](int64_t out, const OutputWindow& window) {
      typename L::V sum{};
      ForEachTap<0>(p, window, [&](int64_t in, int32_t) { sum += L::From(x + in + l); });
      L::To(y + out + l, sum * (1 / AverageCount(p, window.oh, window.ow)));
    });
  });
}

template <typename T>
void AverageBackward(const PoolingPlane& p, const T* dy, float* dx_sums, T* dx) {
  Scatter(p, dx_sums, dx, [&](auto lanes, const OutputWindow& window, int64_t out, int l) {
    const auto gradient =
        decltype(lanes)::From(dy + out + l) * (1 / AverageCount(p, window.oh, window.ow));
    return [gradient](int32_t) { return gradient; };
  });
}

#define GF_POOLING_FUNCTIONS(T, Tap) \
  { &MaxForward<T, Tap>, &MaxBackward<T, Tap>, &AverageForward<T>, &AverageBackward<T> }

}  // namespace

GF_SIMD_DEFINE(PoolingKernels, PoolingTable) = {
    GF_POOLING_FUNCTIONS(float, uint8_t), GF_POOLING_FUNCTIONS(float, uint16_t),
    GF_POOLING_FUNCTIONS(uint16_t, uint8_t), GF_POOLING_FUNCTIONS(uint16_t, uint16_t)};

}  // namespace gf

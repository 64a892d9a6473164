#include "layers/cpu/pooling_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

struct Range {
  int64_t begin, end;
};

// The part of output i's window inside the image, along an axis.
inline Range Inside(const PoolingPlane& p, int axis, int64_t i, int64_t size) {
  const int64_t begin = i * p.stride[axis] - p.pad[axis], end = begin + p.kernel[axis];
  return {begin < 0 ? 0 : begin, end > size ? size : end};
}

// Number of taps that an average divides by: the taps inside the padded image (Caffe).
inline float AverageCount(const PoolingPlane& p, int64_t oh, int64_t ow) {
  int64_t count = 1;
  const int64_t out[2] = {oh, ow}, size[2] = {p.height, p.width};
  for (int a = 0; a < 2; ++a) {
    const int64_t begin = out[a] * p.stride[a] - p.pad[a];
    const int64_t end = begin + p.kernel[a], limit = size[a] + p.pad[a];
    count *= (end > limit ? limit : end) - begin;
  }
  return static_cast<float>(count);
}

// Calls body(out_index, oh, ow) for every output pixel of the plane.
template <typename Body>
inline void ForEachOutput(const PoolingPlane& p, const Body& body) {
  for (int64_t oh = 0; oh < p.out_height; ++oh) {
    for (int64_t ow = 0; ow < p.out_width; ++ow) body(oh * p.out_width + ow, oh, ow);
  }
}

template <int kBlock, typename T, typename Tap>
void MaxForwardBlock(const PoolingPlane& p, const T* x, T* y, Tap* taps) {
  ForEachOutput(p, [&](int64_t out, int64_t oh, int64_t ow) {
    const Range rows = Inside(p, 0, oh, p.height), columns = Inside(p, 1, ow, p.width);
    const int64_t top = oh * p.stride[0] - p.pad[0], left = ow * p.stride[1] - p.pad[1];
    float best[kBlock];
    int32_t which[kBlock];
    const int32_t first =
        static_cast<int32_t>((rows.begin - top) * p.kernel[1] + (columns.begin - left));
    for (int l = 0; l < kBlock; ++l) {
      best[l] = -__builtin_inff();
      which[l] = first;
    }
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const T* in = x + (h * p.width + w) * kBlock;
        const int32_t tap = static_cast<int32_t>((h - top) * p.kernel[1] + (w - left));
#pragma omp simd
        for (int l = 0; l < kBlock; ++l) {
          const float value = Load(in + l);
          // A NaN always wins, so that it stays visible.
          const bool larger = value > best[l] || value != value;
          best[l] = larger ? value : best[l];
          which[l] = larger ? tap : which[l];
        }
      }
    }
    for (int l = 0; l < kBlock; ++l) Store(y + out * kBlock + l, best[l]);
    if (taps == nullptr) return;
    for (int l = 0; l < kBlock; ++l) taps[out * kBlock + l] = static_cast<Tap>(which[l]);
  });
}

template <typename T>
inline void StorePlane(const PoolingPlane& p, const float* sums, T* dx) {
  const int64_t count = p.height * p.width * p.block;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) Store(dx + i, sums[i]);
}

template <int kBlock, typename T, typename Tap>
void MaxBackwardBlock(const PoolingPlane& p, const T* dy, const T* y, const Tap* taps,
                      float* sums) {
  ForEachOutput(p, [&](int64_t out, int64_t oh, int64_t ow) {
    const Range rows = Inside(p, 0, oh, p.height), columns = Inside(p, 1, ow, p.width);
    const int64_t top = oh * p.stride[0] - p.pad[0], left = ow * p.stride[1] - p.pad[1];
    float gradient[kBlock];
    int32_t which[kBlock];
    for (int l = 0; l < kBlock; ++l) {
      const float g = Load(dy + out * kBlock + l);
      gradient[l] = y == nullptr || Load(y + out * kBlock + l) > 0 ? g : 0.f;
      which[l] = taps[out * kBlock + l];
    }
    if (kBlock == 1) {
      const int64_t h = top + which[0] / p.kernel[1], w = left + which[0] % p.kernel[1];
      sums[h * p.width + w] += gradient[0];
      return;
    }
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        float* in = sums + (h * p.width + w) * kBlock;
        const int32_t tap = static_cast<int32_t>((h - top) * p.kernel[1] + (w - left));
#pragma omp simd
        for (int l = 0; l < kBlock; ++l) in[l] += which[l] == tap ? gradient[l] : 0.f;
      }
    }
  });
}

template <int kBlock, typename T>
void AverageForwardBlock(const PoolingPlane& p, const T* x, T* y) {
  ForEachOutput(p, [&](int64_t out, int64_t oh, int64_t ow) {
    const Range rows = Inside(p, 0, oh, p.height), columns = Inside(p, 1, ow, p.width);
    float sum[kBlock] = {};
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const T* in = x + (h * p.width + w) * kBlock;
#pragma omp simd
        for (int l = 0; l < kBlock; ++l) sum[l] += Load(in + l);
      }
    }
    const float scale = 1 / AverageCount(p, oh, ow);
    for (int l = 0; l < kBlock; ++l) Store(y + out * kBlock + l, sum[l] * scale);
  });
}

template <int kBlock, typename T>
void AverageBackwardBlock(const PoolingPlane& p, const T* dy, float* sums) {
  ForEachOutput(p, [&](int64_t out, int64_t oh, int64_t ow) {
    const Range rows = Inside(p, 0, oh, p.height), columns = Inside(p, 1, ow, p.width);
    const float scale = 1 / AverageCount(p, oh, ow);
    float gradient[kBlock];
    for (int l = 0; l < kBlock; ++l) gradient[l] = Load(dy + out * kBlock + l) * scale;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        float* in = sums + (h * p.width + w) * kBlock;
#pragma omp simd
        for (int l = 0; l < kBlock; ++l) in[l] += gradient[l];
      }
    }
  });
}

// Calls f with the plane's block size as a compile-time constant.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

template <typename F>
inline void WithBlock(int block, const F& f) {
  if (block == 16) {
    f(Constant<16>());
  } else if (block == 8) {
    f(Constant<8>());
  } else {
    f(Constant<1>());
  }
}

template <typename T, typename Tap>
void MaxForward(const PoolingPlane& p, const T* x, T* y, Tap* taps) {
  WithBlock(p.block, [&](auto b) { MaxForwardBlock<decltype(b)::value>(p, x, y, taps); });
}

template <typename T, typename Tap>
void MaxBackward(const PoolingPlane& p, const T* dy, const T* y, const Tap* taps, float* sums,
                 T* dx) {
  __builtin_memset(sums, 0, p.height * p.width * p.block * sizeof(float));
  WithBlock(p.block, [&](auto b) { MaxBackwardBlock<decltype(b)::value>(p, dy, y, taps, sums); });
  StorePlane(p, sums, dx);
}

template <typename T>
void AverageForward(const PoolingPlane& p, const T* x, T* y) {
  WithBlock(p.block, [&](auto b) { AverageForwardBlock<decltype(b)::value>(p, x, y); });
}

template <typename T>
void AverageBackward(const PoolingPlane& p, const T* dy, float* sums, T* dx) {
  __builtin_memset(sums, 0, p.height * p.width * p.block * sizeof(float));
  WithBlock(p.block, [&](auto b) { AverageBackwardBlock<decltype(b)::value>(p, dy, sums); });
  StorePlane(p, sums, dx);
}

#define GF_POOLING_FUNCTIONS(T, Tap) \
  { &MaxForward<T, Tap>, &MaxBackward<T, Tap>, &AverageForward<T>, &AverageBackward<T> }

}  // namespace

GF_SIMD_DEFINE(PoolingKernels, PoolingTable) = {
    GF_POOLING_FUNCTIONS(float, uint8_t), GF_POOLING_FUNCTIONS(float, uint16_t),
    GF_POOLING_FUNCTIONS(uint16_t, uint8_t), GF_POOLING_FUNCTIONS(uint16_t, uint16_t)};

}  // namespace gf

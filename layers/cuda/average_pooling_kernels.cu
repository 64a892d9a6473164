#include "layers/cuda/pooling_inline.h"

namespace gf {
namespace {

template <typename T, int kCount>
struct AverageForward {
  PoolingWindows windows;
  ImagePlaces<kCount> places;
  Images<const T> x;
  Images<T> y;

  __device__ void Run(int64_t first, uint32_t i) const {
    const Place out = places.At(first, i);
    const auto rows = windows.Window(0, out.y), columns = windows.Window(1, out.x);
    const T* const image = x.At(out.image, out.channel);
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Floats<kCount> v = LoadFloats<kCount>(image + x.Offset(h, w));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.v[k] += v.v[k];
      }
    }
    const float scale = 1 / static_cast<float>(windows.Taps(0, out.y) * windows.Taps(1, out.x));
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum.v[k] *= scale;
    StoreFloats(y.At(out.image, out.channel) + y.Offset(out.y, out.x), sum);
  }
};

template <typename T, int kCount>
struct AverageBackward {
  PoolingWindows windows;
  ImagePlaces<kCount> places;
  Images<T> dx;
  Images<const T> dy;

  __device__ void Run(int64_t first, uint32_t i) const {
    const Place in = places.At(first, i);
    const auto rows = windows.Windows(0, in.y), columns = windows.Windows(1, in.x);
    const T* const image = dy.At(in.image, in.channel);
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Floats<kCount> g = LoadFloats<kCount>(image + dy.Offset(h, w));
        const float scale = 1 / static_cast<float>(windows.Taps(0, h) * windows.Taps(1, w));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.v[k] += g.v[k] * scale;
      }
    }
    StoreFloats(dx.At(in.image, in.channel) + dx.Offset(in.y, in.x), sum);
  }
};

}  // namespace

// Without the bound, ptxas would spill a register to use at most 32.
template <typename T, int kCount>
constexpr int kBlocksOfItems<AverageBackward<T, kCount>> = 4;

void AveragePool(const PoolingImages& p, DType type, const void* x, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    WithPacks<T>(p.channels, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      const ImagePlaces<kCount> places(p.n, p.out[0], p.out[1], p.channels);
      const AverageForward<T, kCount> f = {PoolingWindows(p), places,
                                           ImagesOf(p, p.in, static_cast<const T*>(x)),
                                           ImagesOf(p, p.out, static_cast<T*>(y))};
      ForItems(places.groups(), f, stream);
    });
  });
}

void AveragePoolGradient(const PoolingImages& p, DType type, const void* dy, void* dx,
                         cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    WithPacks<T>(p.channels, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      const ImagePlaces<kCount> places(p.n, p.in[0], p.in[1], p.channels);
      const AverageBackward<T, kCount> f = {PoolingWindows(p), places,
                                            ImagesOf(p, p.in, static_cast<T*>(dx)),
                                            ImagesOf(p, p.out, static_cast<const T*>(dy))};
      ForItems(places.groups(), f, stream);
    });
  });
}

}  // namespace gf

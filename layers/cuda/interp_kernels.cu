#include "layers/cuda/image_places_inline.h"
#include "layers/cuda/interp_kernels.h"

namespace gf {
namespace {

// kBackward: from dy to dx.
template <typename T, int kCount, bool kBackward>
struct Resize {
  InterpAxis rows, columns;
  ImagePlaces<kCount> places;  // of `to`
  Images<const T> from;
  Images<T> to;

  __device__ static InterpAxis::Range Taps(const InterpAxis& axis, int i) {
    return kBackward ? axis.Results(i) : axis.Sources(i);
  }
  __device__ static float Weight(const InterpAxis& axis, int i, int tap) {
    return kBackward ? axis.Share(tap, i) : axis.Share(i, tap);
  }

  __device__ void Run(int64_t first, uint32_t item) const {
    const Place at = places.At(first, item);
    const auto ys = Taps(rows, at.y), xs = Taps(columns, at.x);
    const T* const image = from.At(at.image, at.channel);
    Floats<kCount> sum = {};
    for (int y = ys.begin; y < ys.end; ++y) {
      const float of_row = Weight(rows, at.y, y);
      for (int x = xs.begin; x < xs.end; ++x) {
        const float weight = of_row * Weight(columns, at.x, x);
        const Floats<kCount> v = LoadFloats<kCount>(image + from.Offset(y, x));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.v[k] += weight * v.v[k];
      }
    }
    StoreFloats(to.At(at.image, at.channel) + to.Offset(at.y, at.x), sum);
  }
};

template <bool kBackward>
void Run(const InterpImages& p, DType type, const void* from, void* to, cudaStream_t stream) {
  const int in[2] = {p.rows.in(), p.columns.in()}, out[2] = {p.rows.out(), p.columns.out()};
  const int *const source = kBackward ? out : in, *const result = kBackward ? in : out;
  WithType(type, [&](auto t) {
    using T = decltype(t);
    WithPacks<T>(p.channels, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      const ImagePlaces<kCount> places(p.n, result[0], result[1], p.channels);
      const Resize<T, kCount, kBackward> f = {
          p.rows,
          p.columns,
          places,
          {static_cast<const T*>(from), source[0], source[1], p.channels},
          {static_cast<T*>(to), result[0], result[1], p.channels}};
      ForItems(places.groups(), f, stream);
    });
  });
}

}  // namespace

// For 64 registers.
template <typename T, int kCount, bool kBackward>
constexpr int kBlocksOfItems<Resize<T, kCount, kBackward>> = 4;

void Interpolate(const InterpImages& images, DType type, const void* x, void* y,
                 cudaStream_t stream) {
  Run<false>(images, type, x, y, stream);
}

void InterpolateGradient(const InterpImages& images, DType type, const void* dy, void* dx,
                         cudaStream_t stream) {
  Run<true>(images, type, dy, dx, stream);
}

}  // namespace gf

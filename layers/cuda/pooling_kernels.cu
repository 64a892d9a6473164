#include "core/cuda/launch_inline.h"
#include "layers/cuda/pooling_kernels.h"

namespace gf {
namespace {

// A pixel of one side, and its first channel.
struct Place {
  int64_t image;
  int y, x, channel;
};

// Element `at` of images of [height][width][channels].
__device__ Place PlaceOf(int64_t at, const int* size, int channels) {
  Place p;
  p.channel = static_cast<int>(at % channels);
  at /= channels;
  p.x = static_cast<int>(at % size[1]);
  at /= size[1];
  p.y = static_cast<int>(at % size[0]);
  p.image = at / size[0];
  return p;
}

__device__ int64_t ElementOf(int64_t image, int y, int x, int channel, const int* size,
                             int channels) {
  return ((image * size[0] + y) * size[1] + x) * channels + channel;
}

struct Range {
  int begin, end;
};

// The window of output i along an axis, inside the image.
__device__ Range Window(const PoolingImages& p, int axis, int i) {
  const int begin = i * p.stride[axis] - p.pad[axis];
  return {max(begin, 0), min(begin + p.kernel[axis], p.in[axis])};
}

// The outputs whose windows hold input i along an axis.
__device__ Range Windows(const PoolingImages& p, int axis, int i) {
  const int at = i + p.pad[axis], first = at - p.kernel[axis];
  return {first < 0 ? 0 : first / p.stride[axis] + 1, min(at / p.stride[axis] + 1, p.out[axis])};
}

// Taps of a window inside the padded image, along an axis.
__device__ int Taps(const PoolingImages& p, int axis, int i) {
  const int begin = i * p.stride[axis] - p.pad[axis];
  return min(begin + p.kernel[axis], p.in[axis] + p.pad[axis]) - begin;
}

template <typename T, typename Tap>
struct MaxForward {
  PoolingImages p;
  const T* x;
  T* y;
  Tap* taps;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Place out = PlaceOf(i, p.out, p.channels);
    const Range rows = Window(p, 0, out.y), columns = Window(p, 1, out.x);
    const int top = out.y * p.stride[0] - p.pad[0], left = out.x * p.stride[1] - p.pad[1];
    Floats<kCount> best;
    Pack<Tap, kCount> which;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      best.v[k] = -INFINITY;
      which.v[k] = static_cast<Tap>((rows.begin - top) * p.kernel[1] + columns.begin - left);
    }
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Floats<kCount> v =
            LoadFloats<kCount>(x + ElementOf(out.image, h, w, out.channel, p.in, p.channels));
        const Tap tap = static_cast<Tap>((h - top) * p.kernel[1] + w - left);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const bool larger = v.v[k] > best.v[k] || v.v[k] != v.v[k];
          best.v[k] = larger ? v.v[k] : best.v[k];
          which.v[k] = larger ? tap : which.v[k];
        }
      }
    }
    StoreFloats(y + i, best);
    if (taps != nullptr) *reinterpret_cast<Pack<Tap, kCount>*>(taps + i) = which;
  }
};

template <typename T, typename Tap>
struct MaxBackward {
  PoolingImages p;
  const T* dy;
  const T* y;
  const Tap* taps;
  T* dx;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Place in = PlaceOf(i, p.in, p.channels);
    const Range rows = Windows(p, 0, in.y), columns = Windows(p, 1, in.x);
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const int64_t at = ElementOf(in.image, h, w, in.channel, p.out, p.channels);
        const auto which = *reinterpret_cast<const Pack<Tap, kCount>*>(taps + at);
        Floats<kCount> g = LoadFloats<kCount>(dy + at), out;
        if (y != nullptr) out = LoadFloats<kCount>(y + at);
        const int tap = (in.y - (h * p.stride[0] - p.pad[0])) * p.kernel[1] + in.x -
                        (w * p.stride[1] - p.pad[1]);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const bool taken = which.v[k] == tap && (y == nullptr || out.v[k] > 0);
          sum.v[k] += taken ? g.v[k] : 0;
        }
      }
    }
    StoreFloats(dx + i, sum);
  }
};

template <typename T>
struct AverageForward {
  PoolingImages p;
  const T* x;
  T* y;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Place out = PlaceOf(i, p.out, p.channels);
    const Range rows = Window(p, 0, out.y), columns = Window(p, 1, out.x);
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Floats<kCount> v =
            LoadFloats<kCount>(x + ElementOf(out.image, h, w, out.channel, p.in, p.channels));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.v[k] += v.v[k];
      }
    }
    const float scale = 1 / static_cast<float>(Taps(p, 0, out.y) * Taps(p, 1, out.x));
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum.v[k] *= scale;
    StoreFloats(y + i, sum);
  }
};

template <typename T>
struct AverageBackward {
  PoolingImages p;
  const T* dy;
  T* dx;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const Place in = PlaceOf(i, p.in, p.channels);
    const Range rows = Windows(p, 0, in.y), columns = Windows(p, 1, in.x);
    Floats<kCount> sum = {};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Floats<kCount> g =
            LoadFloats<kCount>(dy + ElementOf(in.image, h, w, in.channel, p.out, p.channels));
        const float scale = 1 / static_cast<float>(Taps(p, 0, h) * Taps(p, 1, w));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.v[k] += g.v[k] * scale;
      }
    }
    StoreFloats(dx + i, sum);
  }
};

// Over `size` x channels of each image, in packs that do not cross pixels.
template <typename T, typename F>
void ForPixels(const PoolingImages& p, const int* size, const F& f, cudaStream_t stream) {
  const int64_t count = p.n * size[0] * size[1] * p.channels;
  if (p.channels % kPack<T> == 0) {
    Elementwise<kPack<T>>(count, f, stream);
  } else {
    Elementwise<1>(count, f, stream);
  }
}

bool SmallWindow(const PoolingImages& p) { return p.kernel[0] * p.kernel[1] <= 256; }

}  // namespace

void MaxPool(const PoolingImages& p, DType type, const void* x, void* y, void* taps,
             cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto run = [&](auto tap) {
      using Tap = decltype(tap);
      const MaxForward<T, Tap> f = {p, static_cast<const T*>(x), static_cast<T*>(y),
                                    static_cast<Tap*>(taps)};
      ForPixels<T>(p, p.out, f, stream);
    };
    SmallWindow(p) ? run(uint8_t()) : run(uint16_t());
  });
}

void MaxPoolGradient(const PoolingImages& p, DType type, const void* dy, const void* y,
                     const void* taps, void* dx, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto run = [&](auto tap) {
      using Tap = decltype(tap);
      const MaxBackward<T, Tap> f = {p, static_cast<const T*>(dy), static_cast<const T*>(y),
                                     static_cast<const Tap*>(taps), static_cast<T*>(dx)};
      ForPixels<T>(p, p.in, f, stream);
    };
    SmallWindow(p) ? run(uint8_t()) : run(uint16_t());
  });
}

void AveragePool(const PoolingImages& p, DType type, const void* x, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const AverageForward<T> f = {p, static_cast<const T*>(x), static_cast<T*>(y)};
    ForPixels<T>(p, p.out, f, stream);
  });
}

void AveragePoolGradient(const PoolingImages& p, DType type, const void* dy, void* dx,
                         cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const AverageBackward<T> f = {p, static_cast<const T*>(dy), static_cast<T*>(dx)};
    ForPixels<T>(p, p.in, f, stream);
  });
}

}  // namespace gf

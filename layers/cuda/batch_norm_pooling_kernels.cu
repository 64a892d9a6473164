#include "core/cuda/fast_divide_inline.h"
#include "layers/cuda/batch_norm_gradient_inline.h"
#include "layers/cuda/batch_norm_inline.h"
#include "layers/cuda/batch_norm_pooling_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

// The places of a matrix's rows in images of height x width.
struct RowPlaces {
  FastDivide height, width;
  FastDivideLong columns;

  RowPlaces(int h, int w, int channels) : height(h), width(w), columns(channels) {}

  struct Place {
    int image, y, x, column;
  };
  __device__ Place At(int64_t at) const {
    const auto row = static_cast<uint32_t>(columns.Quotient(at));
    const FastDivide::Result across = width.Divide(row), down = height.Divide(across.quotient);
    return {static_cast<int>(down.quotient), static_cast<int>(down.remainder),
            static_cast<int>(across.remainder),
            static_cast<int>(at - int64_t{row} * columns.divisor())};
  }
};

// Addresses in channels-last images.
struct Pixels {
  int height, width, columns;

  __device__ int64_t At(int image, int y, int x, int column) const {
    return ((int64_t{image} * height + y) * width + x) * columns + column;
  }
  // Of the nearest pixel.
  __device__ int64_t Nearest(int image, int y, int x, int column) const {
    return At(image, min(max(y, 0), height - 1), min(max(x, 0), width - 1), column);
  }
  __device__ bool Has(int y, int x) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(height) &&
           static_cast<unsigned>(x) < static_cast<unsigned>(width);
  }
};

Pixels PixelsOf(const PoolingImages& p, const int* size) { return {size[0], size[1], p.channels}; }

constexpr int kStride = 2;
constexpr uint8_t kNoTap = 255;

// Numbers of taps as bytes of words: single bytes would take a register each.
template <int kCount>
struct Taps {
  Pack<uint32_t, kCount / 4> words;

  // Whether tap k has this number. The comparison with four bytes at once needs no shift.
  __device__ bool Is(int k, int number) const {
    return ((words.v[k / 4] ^ number * 0x01010101U) & 255U << k % 4 * 8) == 0;
  }
  __device__ static Taps Load(const uint8_t* from) {
    return {*reinterpret_cast<const Pack<uint32_t, kCount / 4>*>(from)};
  }
};

// A row for each output. Taps outside the image repeat the nearest pixel of the window, which does
// not change the result.
template <typename T, int kKernel>
struct PooledApply {
  static constexpr int kRows = 1, kBlocks = 2;
  RowPlaces outputs;
  Pixels inputs;
  const T* x;
  T* y;
  uint8_t* taps;
  ChannelScales scales;
  int pad[2];
  bool relu;

  // Scales, then offsets of the columns of this block's tile.
  static __device__ float* Table() {
    alignas(32) __shared__ float table[2 * kThreads];
    return table;
  }
  __device__ void Prepare(int first, int tile, int columns) const {
    const int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x), c = first + i;
    if (i >= tile || c >= columns) return;
    const float2 values = scales.Of(c, columns, blockIdx.y == 0);
    Table()[i] = values.x;
    Table()[kThreads + i] = values.y;
  }

  template <int kCount>
  struct Values {
    Floats<kCount> scale, offset;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int) const {
    const float* const values = Table() + threadIdx.x * kCount;
    return {LoadFloats<kCount>(values), LoadFloats<kCount>(values + kThreads)};
  }
  template <int kCount>
  struct Loaded {
    int top, left;
    Pack<T, kCount> x[kKernel][kKernel];
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    const RowPlaces::Place out = outputs.At(at);
    Loaded<kCount> loaded;
    loaded.top = out.y * kStride - pad[0];
    loaded.left = out.x * kStride - pad[1];
#pragma unroll
    for (int r = 0; r < kKernel; ++r) {
#pragma unroll
      for (int c = 0; c < kKernel; ++c) {
        loaded.x[r][c] = LoadPack<kCount>(
            x + inputs.Nearest(out.image, loaded.top + r, loaded.left + c, out.column));
      }
    }
    return loaded;
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    Floats<kCount> best;
    Pack<uint8_t, kCount> which;
    const auto tap = [&](int r, int c) {
      const int h = min(max(r, -loaded.top), inputs.height - 1 - loaded.top);
      const int w = min(max(c, -loaded.left), inputs.width - 1 - loaded.left);
      return static_cast<uint8_t>(h * kKernel + w);
    };
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      best.v[k] = -INFINITY;
      which.v[k] = tap(0, 0);
    }
#pragma unroll
    for (int r = 0; r < kKernel; ++r) {
#pragma unroll
      for (int c = 0; c < kKernel; ++c) {
        const uint8_t here = tap(r, c);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const float exact = ToFloat(loaded.x[r][c].v[k]) * values.scale.v[k] + values.offset.v[k];
          const float v = ToFloat(FromFloat<T>(exact));
          const bool larger = v > best.v[k] || v != v;
          best.v[k] = larger ? v : best.v[k];
          which.v[k] = larger ? here : which.v[k];
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (relu && !(best.v[k] > 0)) which.v[k] = kNoTap;
      if (relu) best.v[k] = best.v[k] < 0 ? 0 : best.v[k];  // NaN stays
    }
    StoreFloats(y + at, best);
    if (taps != nullptr) *reinterpret_cast<Pack<uint8_t, kCount>*>(taps + at) = which;
  }
};

// A row for each block of kStride x kStride inputs: block k along an axis begins at input
// k * kStride - pad. Windows k - kReach to k cover it. Input a of the block is tap a + j * kStride
// of window k - j.
template <typename T, int kKernel>
struct PooledGradient {
  static constexpr int kReach = (kKernel - 1) / kStride;
  RowPlaces blocks;
  Pixels inputs, outputs;
  const T* x;
  const T* dy;
  const uint8_t* taps;
  int begin[2], pad[2];

  template <int kCount>
  struct Loaded {
    int image, top, left;  // of the block's first input, which may be outside the image
    Pack<T, kCount> x[kStride][kStride], dy[kReach + 1][kReach + 1];
    Taps<kCount> which[kReach + 1][kReach + 1];
  };
  template <int kCount>
  __device__ Loaded<kCount> LoadBlock(int64_t at) const {
    const RowPlaces::Place place = blocks.At(at);
    const int block_y = begin[0] + place.y, block_x = begin[1] + place.x;
    Loaded<kCount> loaded;
    loaded.image = place.image;
    loaded.top = block_y * kStride - pad[0];
    loaded.left = block_x * kStride - pad[1];
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
        // Of inputs outside the image another one of this block, which nobody else overwrites.
        loaded.x[a][b] = LoadPack<kCount>(
            x + inputs.Nearest(place.image, loaded.top + a, loaded.left + b, place.column));
      }
    }
#pragma unroll
    for (int j = 0; j <= kReach; ++j) {
#pragma unroll
      for (int i = 0; i <= kReach; ++i) {
        const int h = block_y - j, w = block_x - i;
        const int64_t from = outputs.Nearest(place.image, h, w, place.column);
        loaded.dy[j][i] = LoadPack<kCount>(dy + from);
        loaded.which[j][i] = Taps<kCount>::Load(taps + from);
        if (outputs.Has(h, w)) continue;
        for (auto& word : loaded.which[j][i].words.v) word = ~0;  // kNoTap
      }
    }
    return loaded;
  }
  // The gradient of channel k of input (a, b) of the block.
  template <int kCount>
  __device__ float At(const Loaded<kCount>& loaded, int a, int b, int k) const {
    float sum = 0;
#pragma unroll
    for (int j = kReach; j >= 0; --j) {
#pragma unroll
      for (int i = kReach; i >= 0; --i) {
        const int tap_y = a + j * kStride, tap_x = b + i * kStride;
        if (tap_y >= kKernel || tap_x >= kKernel) continue;
        if (loaded.which[j][i].Is(k, tap_y * kKernel + tap_x)) sum += ToFloat(loaded.dy[j][i].v[k]);
      }
    }
    return sum;
  }
};

// Sums dz and dz * (x - mean).
template <typename T, int kKernel>
struct PooledSums {
  static constexpr int kRows = 1, kBlocks = 2;
  using Gradient = PooledGradient<T, kKernel>;
  Gradient gradient;
  const float* mean;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return LoadFloats<kCount>(mean + column);
  }
  template <int kCount>
  __device__ auto Load(int64_t at) const {
    return gradient.template LoadBlock<kCount>(at);
  }
  template <int kCount, typename Loaded>
  __device__ void Row(const Floats<kCount>& means, const Loaded& loaded, int64_t,
                      Floats<kCount>* sums) const {
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const float g = gradient.At(loaded, a, b, k);  // 0 outside the image
          sums[0].v[k] += g;
          sums[1].v[k] += g * (ToFloat(loaded.x[a][b].v[k]) - means.v[k]);
        }
      }
    }
  }
};

template <typename T, int kKernel>
struct PooledGradientApply {
  static constexpr int kRows = 1, kBlocks = 2;
  using Gradient = PooledGradient<T, kKernel>;
  Gradient gradient;
  BatchNormChannels ch;
  T* dx;

  template <int kCount>
  struct Values {
    Floats<kCount> a, b, c;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {LoadFloats<kCount>(ch.a + column), LoadFloats<kCount>(ch.b + column),
            LoadFloats<kCount>(ch.c + column)};
  }
  template <int kCount>
  __device__ auto Load(int64_t at) const {
    return gradient.template LoadBlock<kCount>(at);
  }
  template <int kCount, typename Loaded>
  __device__ void Row(const Values<kCount>& values, const Loaded& loaded, int64_t,
                      Floats<kCount>*) const {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kCount;
#pragma unroll
    for (int a = 0; a < kStride; ++a) {
#pragma unroll
      for (int b = 0; b < kStride; ++b) {
        const int y = loaded.top + a, x = loaded.left + b;
        if (!gradient.inputs.Has(y, x)) continue;
        Floats<kCount> v;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          v.v[k] = gradient.At(loaded, a, b, k) * values.a.v[k] +
                   (ToFloat(loaded.x[a][b].v[k]) * values.b.v[k] + values.c.v[k]);
        }
        StoreFloats(dx + gradient.inputs.At(loaded.image, y, x, column), v);
      }
    }
  }
};

// Number of blocks along an axis, and the first one that has inputs.
int FirstBlock(const PoolingImages& p, int axis) { return p.pad[axis] / kStride; }
int Blocks(const PoolingImages& p, int axis) {
  return (p.in[axis] + p.pad[axis] - 1) / kStride + 1 - FirstBlock(p, axis);
}

// Calls f(t, kernel) with a value of the number type and the side of the windows.
template <typename F>
void WithWindows(DType type, const PoolingImages& p, const F& f) {
  WithType(type, [&](auto t) {
    if (p.kernel[0] == 3) {
      f(t, std::integral_constant<int, 3>());
    } else {
      f(t, std::integral_constant<int, 2>());
    }
  });
}

}  // namespace

ColumnsView BlocksOf(const PoolingImages& p) {
  return {p.n * Blocks(p, 0) * Blocks(p, 1), p.channels};
}

void NormalizeAndPool(const BatchNormForward& call, const PoolingImages& p, uint8_t* taps,
                      cudaStream_t stream) {
  WithWindows(call.type, p, [&](auto t, auto kernel) {
    using T = decltype(t);
    const PooledApply<T, decltype(kernel)::value> f = {RowPlaces(p.out[0], p.out[1], p.channels),
                                                       PixelsOf(p, p.in),
                                                       static_cast<const T*>(call.x),
                                                       static_cast<T*>(call.y),
                                                       taps,
                                                       ScalesOf(call),
                                                       {p.pad[0], p.pad[1]},
                                                       call.relu};
    ForColumnsBy<kPack<T>>({p.n * p.out[0] * p.out[1], p.channels}, f, stream);
  });
}

void PooledBatchNormGradient(const BatchNormBackward& call, const PoolingImages& p,
                             const uint8_t* taps, const ColumnSumsMemory& memory,
                             cudaStream_t stream) {
  WithWindows(call.type, p, [&](auto t, auto kernel) {
    using T = decltype(t);
    constexpr int kKernel = decltype(kernel)::value;
    const PooledGradient<T, kKernel> gradient = {RowPlaces(Blocks(p, 0), Blocks(p, 1), p.channels),
                                                 PixelsOf(p, p.in),
                                                 PixelsOf(p, p.out),
                                                 static_cast<const T*>(call.x),
                                                 static_cast<const T*>(call.dy),
                                                 taps,
                                                 {FirstBlock(p, 0), FirstBlock(p, 1)},
                                                 {p.pad[0], p.pad[1]}};
    const BatchNormChannels& ch = call.channels;
    const PooledSums<T, kKernel> sums = {gradient, ch.mean};
    SumColumnsBy<2, kPack<T>>(BlocksOf(p), sums, FinishOf<T>(call), memory, stream);
    if (call.dx == nullptr) return;
    const PooledGradientApply<T, kKernel> apply = {gradient, ch, static_cast<T*>(call.dx)};
    ForColumnsBy<kPack<T>>(BlocksOf(p), apply, stream);
  });
}

}  // namespace gf

#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

// Sums of x - shift and its square. The shift is the channel's first pixel, a value near its mean,
// which avoids cancellation; or 0.
template <typename T, bool kShift>
struct StatisticsSums {
  static constexpr int kRows = 4, kBlocks = 4;
  const T* x;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return kShift ? LoadFloats<kCount>(x + column) : Floats<kCount>{};
  }
  template <int kCount>
  __device__ Pack<T, kCount> Load(int64_t at) const {
    return LoadPack<kCount>(x + at);
  }
  template <int kCount>
  __device__ void Row(const Floats<kCount>& shift, const Pack<T, kCount>& loaded, int64_t,
                      Floats<kCount>* sums) const {
    const Floats<kCount> v = ToFloats(loaded);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float d = v.v[k] - shift.v[k];
      sums[0].v[k] += d;
      sums[1].v[k] += d * d;
    }
  }
};

// Scale and offset of a channel. Writes the numbers of the channel if `writes`.
__device__ float2 SetScale(const BatchNormChannels& ch, int c, float mean, float inverse_std,
                           bool writes) {
  const float scale = (ch.gamma != nullptr ? ch.gamma[c] : 1.f) * inverse_std;
  const float offset = (ch.beta != nullptr ? ch.beta[c] : 0.f) - mean * scale;
  if (writes) {
    ch.mean[c] = mean;
    ch.inverse_std[c] = inverse_std;
    ch.scale[c] = scale;
    ch.offset[c] = offset;
  }
  return {scale, offset};
}

// From the sums of `count` values minus `shift`, and of the squares. Updates the running
// statistics, too, if `writes`.
struct SetStatistics {
  BatchNormChannels ch;
  double count;
  double eps, fraction;

  __device__ float2 operator()(int c, float shift, double sum, double squares, bool writes) const {
    const double delta = sum / count;
    const double mean = shift + delta;
    const double square = squares / count - delta * delta;
    const double variance = square < 0 ? 0 : square;  // NaN stays
    if (writes) {
      ch.running_mean[c] =
          static_cast<float>(fraction * ch.running_mean[c] + (1 - fraction) * mean);
      ch.running_variance[c] = static_cast<float>(fraction * ch.running_variance[c] +
                                                  (1 - fraction) * variance * count / (count - 1));
    }
    return SetScale(ch, c, static_cast<float>(mean), static_cast<float>(1 / sqrt(variance + eps)),
                    writes);
  }
};

template <typename T>
struct FinishStatistics {
  SetStatistics set;
  const T* x;

  __device__ void operator()(int c, const double* sums) const {
    set(c, ToFloat(x[c]), sums[0], sums[1], true);
  }
};

struct StoreSums {
  float* sums;
  int channels;

  __device__ void operator()(int c, const double* values) const {
    sums[c] = static_cast<float>(values[0]);
    sums[channels + c] = static_cast<float>(values[1]);
  }
};

SetStatistics StatisticsOf(const BatchNormForward& call) {
  return {call.channels, static_cast<double>(call.view.rows), call.eps, call.fraction};
}

template <typename T, bool kAdd>
struct Apply {
  static constexpr int kRows = kAdd ? 2 : 4, kBlocks = 4;
  const T* x;
  const T* add;
  T* y;
  SetStatistics set;
  NormalizeWith with;
  const float* sums;
  bool relu;
  unsigned char* mask;

  // Scales, then offsets of the columns of this block's tile.
  static __device__ float* Table() {
    alignas(32) __shared__ float table[2 * kThreads];
    return table;
  }
  // Every block computes them for itself; those with the first rows of their tiles write them.
  __device__ void Prepare(int first, int tile, int columns) const {
    const int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x), c = first + i;
    if (i >= tile || c >= columns) return;
    const BatchNormChannels& ch = set.ch;
    const bool writes = blockIdx.y == 0;
    float2 values = {0, 0};
    if (with == NormalizeWith::kSums) {
      values = set(c, 0, sums[c], sums[columns + c], writes);
    } else if (with == NormalizeWith::kRunning) {
      const float variance = ch.running_variance[c] + static_cast<float>(set.eps);
      values = SetScale(ch, c, ch.running_mean[c], 1 / sqrtf(variance), writes);
    } else {
      values = {ch.scale[c], ch.offset[c]};
    }
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
    Pack<T, kCount> x, add;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    Loaded<kCount> loaded;
    loaded.x = LoadPack<kCount>(x + at);
    if constexpr (kAdd) loaded.add = LoadPack<kCount>(add + at);
    return loaded;
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    Floats<kCount> v = ToFloats(loaded.x), other;
    if constexpr (kAdd) other = ToFloats(loaded.add);
    unsigned positive = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = v.v[k] * values.scale.v[k] + values.offset.v[k];
      if (kAdd) v.v[k] += other.v[k];
      if (kAdd && v.v[k] > 0) positive |= 1U << k;
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];  // NaN stays
    }
    StoreFloats(y + at, v);
    if (kAdd && mask != nullptr) mask[at / kCount] = static_cast<unsigned char>(positive);
  }
};

}  // namespace

size_t BatchNormMaskBytes(const ColumnsView& view, DType type) {
  size_t bytes = 0;
  WithType(type, [&](auto t) {
    WithColumnCount<decltype(t)>(view, [&](auto count) {
      static_assert(decltype(count)::value <= 8, "a pack's bits fit into a byte");
      bytes = view.rows * view.columns / decltype(count)::value;
    });
  });
  return bytes;
}

void BatchStatistics(const BatchNormForward& call, const ColumnSumsMemory& memory,
                     cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const FinishStatistics<T> finish = {StatisticsOf(call), x};
    SumColumns<2, T>(call.view, StatisticsSums<T, true>{x}, finish, memory, stream);
  });
}

void ChannelSums(const ColumnsView& view, DType type, const void* x, float* sums,
                 const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    SumColumns<2, T>(view, StatisticsSums<T, false>{static_cast<const T*>(x)},
                     StoreSums{sums, view.columns}, memory, stream);
  });
}

void Normalize(const BatchNormForward& call, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const T* add = static_cast<const T*>(call.add);
    T* y = static_cast<T*>(call.y);
    const SetStatistics set = StatisticsOf(call);
    if (add != nullptr) {
      ForColumns<T>(call.view,
                    Apply<T, true>{x, add, y, set, call.with, call.sums, call.relu, call.mask},
                    stream);
    } else {
      ForColumns<T>(call.view,
                    Apply<T, false>{x, add, y, set, call.with, call.sums, call.relu, nullptr},
                    stream);
    }
  });
}

}  // namespace gf

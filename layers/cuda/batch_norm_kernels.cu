#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

template <int kCount>
__device__ Floats<kCount> Channels(const float* values, int column) {
  return LoadFloats<kCount>(values + column);
}

// Sums of x - shift and its square. The shift is the channel's first pixel, a value near its mean,
// which avoids cancellation.
template <typename T>
struct StatisticsSums {
  static constexpr int kRows = 4, kBlocks = 4;
  const T* x;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return LoadFloats<kCount>(x + column);
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

__device__ void SetScale(const BatchNormChannels& ch, int c, float mean, float inverse_std) {
  const float scale = (ch.gamma != nullptr ? ch.gamma[c] : 1.f) * inverse_std;
  ch.mean[c] = mean;
  ch.inverse_std[c] = inverse_std;
  ch.scale[c] = scale;
  ch.offset[c] = (ch.beta != nullptr ? ch.beta[c] : 0.f) - mean * scale;
}

template <typename T>
struct FinishStatistics {
  BatchNormChannels ch;
  const T* x;
  double count;
  double eps, fraction;

  __device__ void operator()(int c, const double* sums) const {
    const double delta = sums[0] / count;
    const double mean = ToFloat(x[c]) + delta;
    const double square = sums[1] / count - delta * delta;
    const double variance = square < 0 ? 0 : square;  // NaN stays
    SetScale(ch, c, static_cast<float>(mean), static_cast<float>(1 / sqrt(variance + eps)));
    ch.running_mean[c] = static_cast<float>(fraction * ch.running_mean[c] + (1 - fraction) * mean);
    ch.running_variance[c] = static_cast<float>(fraction * ch.running_variance[c] +
                                                (1 - fraction) * variance * count / (count - 1));
  }
};

__global__ void UseRunning(BatchNormChannels ch, int channels, float eps) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  SetScale(ch, c, ch.running_mean[c], 1 / sqrtf(ch.running_variance[c] + eps));
}

template <typename T, bool kAdd>
struct Apply {
  static constexpr int kRows = kAdd ? 2 : 4, kBlocks = 4;
  const T* x;
  const T* add;
  T* y;
  const float* scale;
  const float* offset;
  bool relu;

  template <int kCount>
  struct Values {
    Floats<kCount> scale, offset;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {Channels<kCount>(scale, column), Channels<kCount>(offset, column)};
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
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = v.v[k] * values.scale.v[k] + values.offset.v[k];
      if (kAdd) v.v[k] += other.v[k];
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];  // NaN stays
    }
    StoreFloats(y + at, v);
  }
};

}  // namespace

void BatchStatistics(const BatchNormForward& call, const ColumnSumsMemory& memory,
                     cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const FinishStatistics<T> finish = {call.channels, x, static_cast<double>(call.view.rows),
                                        call.eps, call.fraction};
    SumColumns<2, T>(call.view, StatisticsSums<T>{x}, finish, memory, stream);
  });
}

void RunningStatistics(const BatchNormForward& call, cudaStream_t stream) {
  Launch({(call.view.columns + kThreads - 1) / kThreads, kThreads, stream}, UseRunning,
         call.channels, call.view.columns, call.eps);
}

void Normalize(const BatchNormForward& call, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const T* add = static_cast<const T*>(call.add);
    T* y = static_cast<T*>(call.y);
    const BatchNormChannels& ch = call.channels;
    if (add != nullptr) {
      ForColumns<T>(call.view, Apply<T, true>{x, add, y, ch.scale, ch.offset, call.relu}, stream);
    } else {
      ForColumns<T>(call.view, Apply<T, false>{x, add, y, ch.scale, ch.offset, call.relu}, stream);
    }
  });
}

}  // namespace gf

#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/columns_inline.h"

namespace gf {
namespace {

template <int kCount>
__device__ Floats<kCount> Channels(const float* values, int column) {
  return LoadFloats<kCount>(values + column);
}

// Sums of x - shift and its square, with a value near the channel's mean, its first pixel, as the
// shift: without cancellation.
template <typename T>
struct StatisticsSums {
  const T* x;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return LoadFloats<kCount>(x + column);
  }
  template <int kCount>
  __device__ void Row(const Floats<kCount>& shift, int64_t at, Floats<kCount>* sums) const {
    const Floats<kCount> v = LoadFloats<kCount>(x + at);
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
  __device__ void Row(const Values<kCount>& values, int64_t at, Floats<kCount>*) const {
    Floats<kCount> v = LoadFloats<kCount>(x + at), other;
    if (kAdd) other = LoadFloats<kCount>(add + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = v.v[k] * values.scale.v[k] + values.offset.v[k];
      if (kAdd) v.v[k] += other.v[k];
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];  // NaN stays
    }
    StoreFloats(y + at, v);
  }
};

// Sums of dz and dz * (x - mean); stores dz.
template <typename T, ReluGradientFrom kRelu>
struct GradientSums {
  const T* x;
  const T* y;
  const T* dy;
  const T* dy2;
  T* dz;
  const float* scale;
  const float* offset;
  const float* mean;

  template <int kCount>
  struct Values {
    Floats<kCount> scale, offset, mean;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {Channels<kCount>(scale, column), Channels<kCount>(offset, column),
            Channels<kCount>(mean, column)};
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, int64_t at, Floats<kCount>* sums) const {
    const Floats<kCount> vx = LoadFloats<kCount>(x + at);
    Floats<kCount> g = LoadFloats<kCount>(dy + at), more = {}, vy;
    if (dy2 != nullptr) more = LoadFloats<kCount>(dy2 + at);
    if (kRelu == ReluGradientFrom::kOutput) vy = LoadFloats<kCount>(y + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      g.v[k] += more.v[k];
      if (kRelu == ReluGradientFrom::kInput) {
        g.v[k] = vx.v[k] * values.scale.v[k] + values.offset.v[k] > 0 ? g.v[k] : 0;
      }
      if (kRelu == ReluGradientFrom::kOutput) g.v[k] = vy.v[k] > 0 ? g.v[k] : 0;
      sums[0].v[k] += g.v[k];
      sums[1].v[k] += g.v[k] * (vx.v[k] - values.mean.v[k]);
    }
    if (dz != nullptr) StoreFloats(dz + at, g);
  }
};

// Gradients of gamma and beta, and dx = a * dz + b * x + c (Ioffe and Szegedy, section 3):
//   dx = gamma / std * (dz - mean(dz) - xhat * mean(dz * xhat)).
template <typename T>
struct FinishGradients {
  BatchNormChannels ch;
  double count;
  bool global_statistics;
  T* dgamma;
  T* dbeta;

  __device__ void operator()(int c, const double* sums) const {
    const double inverse_std = ch.inverse_std[c], product = sums[1] * inverse_std;
    if (dgamma != nullptr) dgamma[c] = FromFloat<T>(static_cast<float>(product));
    if (dbeta != nullptr) dbeta[c] = FromFloat<T>(static_cast<float>(sums[0]));
    const double k = (ch.gamma != nullptr ? ch.gamma[c] : 1.f) * inverse_std;
    const double slope = global_statistics ? 0 : -k * inverse_std * product / count;
    ch.a[c] = static_cast<float>(k);
    ch.b[c] = static_cast<float>(slope);
    ch.c[c] =
        global_statistics ? 0.f : static_cast<float>(-slope * ch.mean[c] - k * sums[0] / count);
  }
};

template <typename T, bool kRelu>
struct GradientApply {
  const T* x;
  const T* g;
  T* dx;
  BatchNormChannels ch;

  template <int kCount>
  struct Values {
    Floats<kCount> scale, offset, a, b, c;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {Channels<kCount>(ch.scale, column), Channels<kCount>(ch.offset, column),
            Channels<kCount>(ch.a, column), Channels<kCount>(ch.b, column),
            Channels<kCount>(ch.c, column)};
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, int64_t at, Floats<kCount>*) const {
    const Floats<kCount> vx = LoadFloats<kCount>(x + at);
    Floats<kCount> v = LoadFloats<kCount>(g + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (kRelu) v.v[k] = vx.v[k] * values.scale.v[k] + values.offset.v[k] > 0 ? v.v[k] : 0;
      v.v[k] = v.v[k] * values.a.v[k] + (vx.v[k] * values.b.v[k] + values.c.v[k]);
    }
    StoreFloats(dx + at, v);
  }
};

template <typename T, ReluGradientFrom kRelu>
void Gradient(const BatchNormBackward& call, void* scratch, cudaStream_t stream) {
  const BatchNormChannels& ch = call.channels;
  const T* x = static_cast<const T*>(call.x);
  T* dz = static_cast<T*>(call.dz);
  const GradientSums<T, kRelu> sums = {x,
                                       static_cast<const T*>(call.y),
                                       static_cast<const T*>(call.dy),
                                       static_cast<const T*>(call.dy2),
                                       dz,
                                       ch.scale,
                                       ch.offset,
                                       ch.mean};
  const FinishGradients<T> finish = {ch, static_cast<double>(call.view.rows),
                                     call.global_statistics, static_cast<T*>(call.dgamma),
                                     static_cast<T*>(call.dbeta)};
  SumColumns<2, T>(call.view, sums, finish, scratch, stream);
  if (call.dx == nullptr) return;
  const T* g = dz != nullptr ? dz : static_cast<const T*>(call.dy);
  if (dz == nullptr && kRelu != ReluGradientFrom::kNone) {
    ForColumns<T>(call.view, GradientApply<T, true>{x, g, static_cast<T*>(call.dx), ch}, stream);
  } else {
    ForColumns<T>(call.view, GradientApply<T, false>{x, g, static_cast<T*>(call.dx), ch}, stream);
  }
}

}  // namespace

void BatchStatistics(const BatchNormForward& call, void* scratch, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const T* x = static_cast<const T*>(call.x);
    const FinishStatistics<T> finish = {call.channels, x, static_cast<double>(call.view.rows),
                                        call.eps, call.fraction};
    SumColumns<2, T>(call.view, StatisticsSums<T>{x}, finish, scratch, stream);
  });
}

void RunningStatistics(const BatchNormForward& call, cudaStream_t stream) {
  Launch({(call.view.columns + kThreads - 1) / kThreads, kThreads, stream}, UseRunning,
         call.channels, call.view.columns, call.eps);
}

void Normalise(const BatchNormForward& call, cudaStream_t stream) {
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

void BatchNormGradient(const BatchNormBackward& call, void* scratch, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    switch (call.relu) {
      case ReluGradientFrom::kNone:
        return Gradient<T, ReluGradientFrom::kNone>(call, scratch, stream);
      case ReluGradientFrom::kInput:
        return Gradient<T, ReluGradientFrom::kInput>(call, scratch, stream);
      case ReluGradientFrom::kOutput:
        return Gradient<T, ReluGradientFrom::kOutput>(call, scratch, stream);
    }
  });
}

}  // namespace gf

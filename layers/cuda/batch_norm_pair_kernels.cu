// Gradients of two batch norms whose results were added.
#include "layers/cuda/batch_norm_gradient_inline.h"
#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

// Sums dz, dz * (x - mean) and the addend's dz * (x - mean), and stores dz. kAdd: dy2 is added to
// dy.
template <typename T, bool kAdd>
struct PairSums {
  static constexpr int kRows = 2, kBlocks = 2;
  const T* x;
  const T* addend;
  const unsigned char* mask;  // null: no ReLU
  const T* dy;
  const T* dy2;
  T* dz;
  const float* mean;
  const float* addend_mean;

  template <int kCount>
  struct Values {
    Floats<kCount> mean, addend_mean;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {LoadFloats<kCount>(mean + column), LoadFloats<kCount>(addend_mean + column)};
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, addend, dy, dy2;
    unsigned positive;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    Loaded<kCount> loaded;
    loaded.x = LoadPack<kCount>(x + at);
    loaded.addend = LoadPack<kCount>(addend + at);
    loaded.dy = LoadPack<kCount>(dy + at);
    if constexpr (kAdd) loaded.dy2 = LoadPack<kCount>(dy2 + at);
    loaded.positive = mask != nullptr ? mask[at / kCount] : ~0U;
    return loaded;
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>* sums) const {
    Floats<kCount> g;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      float g_k = ToFloat(loaded.dy.v[k]);
      if constexpr (kAdd) g_k += ToFloat(loaded.dy2.v[k]);
      g_k = (loaded.positive >> k & 1U) != 0 ? g_k : 0;
      g.v[k] = g_k;
      sums[0].v[k] += g_k;
      sums[1].v[k] += g_k * (ToFloat(loaded.x.v[k]) - values.mean.v[k]);
      sums[2].v[k] += g_k * (ToFloat(loaded.addend.v[k]) - values.addend_mean.v[k]);
    }
    if (dz != nullptr) StoreAtOnce(dz + at, g);
  }
};

// Finishes the batch norm itself, then the addend: its sums and the factors of its dx.
template <typename T>
struct FinishPair {
  FinishGradients<T> own;
  BatchNormAddend addend;
  int channels;

  __device__ void operator()(int c, const double* sums) const {
    own(c, sums);
    const double addend_sums[] = {sums[0], sums[2]};
    if (addend.sums != nullptr) {
      addend.sums[c] = static_cast<float>(addend_sums[0]);
      addend.sums[channels + c] = static_cast<float>(addend_sums[1]);
    }
    const GradientFactors factors =
        FactorsOf(addend.scale[c], addend.inverse_std[c], addend.mean[c], addend_sums, own.count);
    addend.a[c] = factors.a;
    addend.b[c] = factors.b;
    addend.c[c] = factors.c;
  }
};

template <typename T>
struct PairApply {
  static constexpr int kRows = 2, kBlocks = 2;
  const T* x;
  const T* addend;
  const T* dz;
  T* dx;         // may be dz or x
  T* addend_dx;  // null: not needed
  BatchNormChannels ch;
  BatchNormAddend other;

  template <int kCount>
  struct Values {
    Floats<kCount> a, b, c, other_a, other_b, other_c;
  };
  template <int kCount>
  __device__ Values<kCount> Begin(int column) const {
    return {LoadFloats<kCount>(ch.a + column),    LoadFloats<kCount>(ch.b + column),
            LoadFloats<kCount>(ch.c + column),    LoadFloats<kCount>(other.a + column),
            LoadFloats<kCount>(other.b + column), LoadFloats<kCount>(other.c + column)};
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, addend, dz;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    return {LoadPack<kCount>(x + at), LoadPack<kCount>(addend + at), LoadPack<kCount>(dz + at)};
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    Floats<kCount> v, w;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float g = ToFloat(loaded.dz.v[k]);
      v.v[k] = g * values.a.v[k] + (ToFloat(loaded.x.v[k]) * values.b.v[k] + values.c.v[k]);
      w.v[k] = g * values.other_a.v[k] +
               (ToFloat(loaded.addend.v[k]) * values.other_b.v[k] + values.other_c.v[k]);
    }
    if (dx != nullptr) StoreFloats(dx + at, v);
    if (addend_dx != nullptr) StoreFloats(addend_dx + at, w);
  }
};

template <typename T, bool kAdd>
void SumPair(const BatchNormBackward& call, const BatchNormAddend& addend,
             const ColumnSumsMemory& memory, cudaStream_t stream) {
  const PairSums<T, kAdd> sums = {static_cast<const T*>(call.x),
                                  static_cast<const T*>(addend.x),
                                  call.relu == ReluGradientFrom::kMask ? call.mask : nullptr,
                                  static_cast<const T*>(call.dy),
                                  static_cast<const T*>(call.dy2),
                                  static_cast<T*>(call.dz),
                                  call.channels.mean,
                                  addend.mean};
  const FinishPair<T> finish = {FinishOf<T>(call), addend, call.view.columns};
  SumColumns<3, T>(call.view, sums, finish, memory, stream);
}

template <typename T>
__global__ void GradientsKernel(int channels, const float* sums, const float* inverse_std,
                                T* dgamma, T* dbeta) {
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (c >= channels) return;
  if (dgamma != nullptr) dgamma[c] = FromFloat<T>(sums[channels + c] * inverse_std[c]);
  if (dbeta != nullptr) dbeta[c] = FromFloat<T>(sums[c]);
}

}  // namespace

void BatchNormPairGradient(const BatchNormBackward& call, const BatchNormAddend& addend,
                           const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    const auto sum = call.dy2 != nullptr ? SumPair<T, true> : SumPair<T, false>;
    sum(call, addend, memory, stream);
    if (call.dx == nullptr && addend.dx == nullptr) return;
    ForColumns<T>(
        call.view,
        PairApply<T>{static_cast<const T*>(call.x), static_cast<const T*>(addend.x),
                     static_cast<const T*>(call.dz != nullptr ? call.dz : call.dy),
                     static_cast<T*>(call.dx), static_cast<T*>(addend.dx), call.channels, addend},
        stream);
  });
}

void GradientsFromSums(DType type, int channels, const float* sums, const float* inverse_std,
                       void* dgamma, void* dbeta, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Launch({(channels + kThreads - 1) / kThreads, kThreads, stream}, GradientsKernel<T>, channels,
           sums, inverse_std, static_cast<T*>(dgamma), static_cast<T*>(dbeta));
  });
}

}  // namespace gf

#include "layers/cuda/batch_norm_gradient_inline.h"
#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

// Sums dz and dz * (x - mean), and stores dz. kAdd: dy2 is added to dy.
template <typename T, ReluGradientFrom kRelu, bool kAdd>
struct GradientSums {
  static constexpr bool kMask = kRelu == ReluGradientFrom::kMask;
  static constexpr bool kInput = kRelu == ReluGradientFrom::kInput;
  static constexpr int kRows = 2, kBlocks = !kInput && !kMask ? 4 : kInput && kAdd ? 2 : 3;
  const T* x;
  const unsigned char* mask;
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
    return {LoadFloats<kCount>(scale + column), LoadFloats<kCount>(offset + column),
            LoadFloats<kCount>(mean + column)};
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, dy, dy2;
    unsigned positive;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    Loaded<kCount> loaded;
    loaded.x = LoadPack<kCount>(x + at);
    loaded.dy = LoadPack<kCount>(dy + at);
    if constexpr (kAdd) loaded.dy2 = LoadPack<kCount>(dy2 + at);
    if constexpr (kMask) loaded.positive = mask[at / kCount];
    return loaded;
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>* sums) const {
    // In two loops and from the last column to the first, ptxas has four loads in flight within the
    // registers that kBlocks leaves (tests/kernel_code).
    Floats<kCount> g;
#pragma unroll
    for (int k = kCount - 1; k >= 0; --k) {
      float g_k = ToFloat(loaded.dy.v[k]);
      if constexpr (kAdd) g_k += ToFloat(loaded.dy2.v[k]);
      const float x_k = ToFloat(loaded.x.v[k]);
      if (kInput) g_k = x_k * values.scale.v[k] + values.offset.v[k] > 0 ? g_k : 0;
      if (kMask) g_k = (loaded.positive >> k & 1U) != 0 ? g_k : 0;
      g.v[k] = g_k;
    }
#pragma unroll
    for (int k = kCount - 1; k >= 0; --k) {
      sums[0].v[k] += g.v[k];
      sums[1].v[k] += g.v[k] * (ToFloat(loaded.x.v[k]) - values.mean.v[k]);
    }
    if (dz != nullptr) StoreAtOnce(dz + at, g);
  }
};

template <typename T, bool kRelu>
struct GradientApply {
  static constexpr int kRows = 2, kBlocks = kRelu && sizeof(T) == 2 ? 3 : 4;
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
    return {LoadFloats<kCount>(ch.scale + column), LoadFloats<kCount>(ch.offset + column),
            LoadFloats<kCount>(ch.a + column), LoadFloats<kCount>(ch.b + column),
            LoadFloats<kCount>(ch.c + column)};
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> x, g;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    return {LoadPack<kCount>(x + at), LoadPack<kCount>(g + at)};
  }
  template <int kCount>
  __device__ void Row(const Values<kCount>& values, const Loaded<kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    const Floats<kCount> vx = ToFloats(loaded.x);
    Floats<kCount> v = ToFloats(loaded.g);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (kRelu) v.v[k] = vx.v[k] * values.scale.v[k] + values.offset.v[k] > 0 ? v.v[k] : 0;
      v.v[k] = v.v[k] * values.a.v[k] + (vx.v[k] * values.b.v[k] + values.c.v[k]);
    }
    StoreFloats(dx + at, v);
  }
};

template <typename T, ReluGradientFrom kRelu, bool kAdd>
void SumGradients(const BatchNormBackward& call, const ColumnSumsMemory& memory,
                  cudaStream_t stream) {
  const BatchNormChannels& ch = call.channels;
  const GradientSums<T, kRelu, kAdd> sums = {static_cast<const T*>(call.x),
                                             call.mask,
                                             static_cast<const T*>(call.dy),
                                             static_cast<const T*>(call.dy2),
                                             static_cast<T*>(call.dz),
                                             ch.scale,
                                             ch.offset,
                                             ch.mean};
  SumColumns<2, T>(call.view, sums, FinishOf<T>(call), memory, stream);
}

template <typename T, ReluGradientFrom kRelu>
void Gradient(const BatchNormBackward& call, const ColumnSumsMemory& memory, cudaStream_t stream) {
  if (call.dy2 != nullptr) {
    SumGradients<T, kRelu, true>(call, memory, stream);
  } else {
    SumGradients<T, kRelu, false>(call, memory, stream);
  }
  if (call.dx == nullptr) return;
  const BatchNormChannels& ch = call.channels;
  const T* x = static_cast<const T*>(call.x);
  const T* g = static_cast<const T*>(call.dz != nullptr ? call.dz : call.dy);
  if (call.dz == nullptr && kRelu != ReluGradientFrom::kNone) {
    ForColumns<T>(call.view, GradientApply<T, true>{x, g, static_cast<T*>(call.dx), ch}, stream);
  } else {
    ForColumns<T>(call.view, GradientApply<T, false>{x, g, static_cast<T*>(call.dx), ch}, stream);
  }
}

}  // namespace

void BatchNormGradient(const BatchNormBackward& call, const ColumnSumsMemory& memory,
                       cudaStream_t stream) {
  WithType(call.type, [&](auto t) {
    using T = decltype(t);
    switch (call.relu) {
      case ReluGradientFrom::kNone:
        return Gradient<T, ReluGradientFrom::kNone>(call, memory, stream);
      case ReluGradientFrom::kInput:
        return Gradient<T, ReluGradientFrom::kInput>(call, memory, stream);
      case ReluGradientFrom::kMask:
        return Gradient<T, ReluGradientFrom::kMask>(call, memory, stream);
    }
  });
}

}  // namespace gf

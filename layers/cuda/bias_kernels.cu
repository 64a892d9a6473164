#include "layers/cuda/bias_kernels.h"
#include "layers/cuda/column_sums_inline.h"

namespace gf {
namespace {

template <typename T>
struct Add {
  static constexpr int kRows = 4, kBlocks = 4;
  T* y;
  const T* bias;
  bool relu;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return bias != nullptr ? LoadFloats<kCount>(bias + column) : Floats<kCount>{};
  }
  template <int kCount>
  __device__ Pack<T, kCount> Load(int64_t at) const {
    return LoadPack<kCount>(y + at);
  }
  template <int kCount>
  __device__ void Row(const Floats<kCount>& b, const Pack<T, kCount>& loaded, int64_t at,
                      Floats<kCount>*) const {
    Floats<kCount> v = ToFloats(loaded);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] += b.v[k];
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];
    }
    StoreFloats(y + at, v);
  }
};

// kRelu: includes the gradient of the ReLU whose output is y.
template <typename T, bool kRelu>
struct Gradient {
  static constexpr int kRows = kRelu ? 2 : 4, kBlocks = 4;
  T* dy;
  const T* y;

  template <int kCount>
  __device__ int Begin(int) const {
    return 0;
  }
  template <int kCount>
  struct Loaded {
    Pack<T, kCount> dy, y;
  };
  template <int kCount>
  __device__ Loaded<kCount> Load(int64_t at) const {
    Loaded<kCount> loaded;
    loaded.dy = LoadPack<kCount>(dy + at);
    if constexpr (kRelu) loaded.y = LoadPack<kCount>(y + at);
    return loaded;
  }
  template <int kCount>
  __device__ void Row(int, const Loaded<kCount>& loaded, int64_t at, Floats<kCount>* sums) const {
    Floats<kCount> g = ToFloats(loaded.dy);
    if constexpr (kRelu) {
      const Floats<kCount> v = ToFloats(loaded.y);
#pragma unroll
      for (int k = 0; k < kCount; ++k) g.v[k] = v.v[k] > 0 ? g.v[k] : 0;
      StoreFloats(dy + at, g);
    }
    if (sums == nullptr) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[0].v[k] += g.v[k];
  }
};

template <typename T>
struct Finish {
  T* dbias;
  __device__ void operator()(int column, const double* sums) const {
    dbias[column] = FromFloat<T>(static_cast<float>(sums[0]));
  }
};

}  // namespace

void AddBias(const ColumnsView& view, DType type, void* y, const void* bias, bool relu,
             cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    ForColumns<T>(view, Add<T>{static_cast<T*>(y), static_cast<const T*>(bias), relu}, stream);
  });
}

void BiasGradient(const ColumnsView& view, DType type, void* dy, const void* y, void* dbias,
                  const ColumnSumsMemory& memory, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    T* const g = static_cast<T*>(dy);
    const Finish<T> finish = {static_cast<T*>(dbias)};
    const Gradient<T, true> through_relu = {g, static_cast<const T*>(y)};
    if (dbias == nullptr) {
      if (y != nullptr) ForColumns<T>(view, through_relu, stream);
    } else if (y != nullptr) {
      SumColumns<1, T>(view, through_relu, finish, memory, stream);
    } else {
      SumColumns<1, T>(view, Gradient<T, false>{g, nullptr}, finish, memory, stream);
    }
  });
}

}  // namespace gf

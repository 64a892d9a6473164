#include "layers/cuda/bias_kernels.h"
#include "layers/cuda/columns_inline.h"

namespace gf {
namespace {

template <typename T>
struct Add {
  T* y;
  const T* bias;
  bool relu;

  template <int kCount>
  __device__ Floats<kCount> Begin(int column) const {
    return bias != nullptr ? LoadFloats<kCount>(bias + column) : Floats<kCount>{};
  }
  template <int kCount>
  __device__ void Row(const Floats<kCount>& b, int64_t at, Floats<kCount>*) const {
    Floats<kCount> v = LoadFloats<kCount>(y + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] += b.v[k];
      if (relu) v.v[k] = v.v[k] < 0 ? 0 : v.v[k];
    }
    StoreFloats(y + at, v);
  }
};

template <typename T>
struct Gradient {
  T* dy;
  const T* y;

  template <int kCount>
  __device__ int Begin(int) const {
    return 0;
  }
  template <int kCount>
  __device__ void Row(int, int64_t at, Floats<kCount>* sums) const {
    Floats<kCount> g = LoadFloats<kCount>(dy + at);
    if (y != nullptr) {
      const Floats<kCount> v = LoadFloats<kCount>(y + at);
#pragma unroll
      for (int k = 0; k < kCount; ++k) g.v[k] = v.v[k] > 0 ? g.v[k] : 0;
      StoreFloats(dy + at, g);
    }
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
                  void* scratch, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const Gradient<T> gradient = {static_cast<T*>(dy), static_cast<const T*>(y)};
    if (dbias != nullptr) {
      SumColumns<1, T>(view, gradient, Finish<T>{static_cast<T*>(dbias)}, scratch, stream);
    } else {
      ForColumns<T>(view, gradient, stream);
    }
  });
}

}  // namespace gf

#pragma once

// FP32, FP16 and BF16 in kernels: loaded as float, stored rounded to nearest even.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace gf {

__device__ inline float ToFloat(float x) { return x; }
__device__ inline float ToFloat(__half x) { return __half2float(x); }
__device__ inline float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ inline T FromFloat(float x);
template <>
__device__ inline float FromFloat<float>(float x) {
  return x;
}
template <>
__device__ inline __half FromFloat<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 FromFloat<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// kCount neighboring elements that are loaded and stored at once.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T v[kCount];
};

template <int kCount>
struct Floats {
  float v[kCount];
};

// Loads from an address that is a multiple of kCount elements.
template <int kCount, typename T>
__device__ inline Pack<T, kCount> LoadPack(const T* p) {
  return *reinterpret_cast<const Pack<T, kCount>*>(p);
}

template <typename T, int kCount>
__device__ inline Floats<kCount> ToFloats(const Pack<T, kCount>& pack) {
  Floats<kCount> x;
#pragma unroll
  for (int k = 0; k < kCount; ++k) x.v[k] = ToFloat(pack.v[k]);
  return x;
}

template <int kCount, typename T>
__device__ inline Floats<kCount> LoadFloats(const T* p) {
  return ToFloats(LoadPack<kCount>(p));
}

template <int kCount, typename T>
__device__ inline void StoreFloats(T* p, const Floats<kCount>& x) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.v[k] = FromFloat<T>(x.v[k]);
  *reinterpret_cast<Pack<T, kCount>*>(p) = pack;
}

}  // namespace gf

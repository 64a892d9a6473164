#pragma once

// Included before every .cu file that is compiled for the emulated GPU: what a compiler for GPUs
// adds to C++.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "tests/emulated_gpu/blocks.h"
#include "tests/emulated_gpu/shared_memory.h"
#include "tests/emulated_gpu/streams.h"

#undef __shared__
#define __shared__ GF_SHARED
#undef __launch_bounds__
#define __launch_bounds__(...)

#define threadIdx (::gf::emulated::place.thread)
#define blockIdx (::gf::emulated::place.block)
#define blockDim (::gf::emulated::place.block_dim)
#define gridDim (::gf::emulated::place.grid_dim)

inline void __syncthreads() { gf::emulated::SyncThreads(); }

template <typename T>
T __shfl_xor_sync(unsigned, T value, int lane_mask) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = gf::emulated::ExchangeInWarp(bits, lane_mask);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
T atomicAdd(T* address, T value) {
  static_assert(std::is_integral_v<T>, "the order of floating-point sums is fixed");
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <typename T>
T atomicExch(T* address, T value) {
  return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}

inline unsigned atomicInc(unsigned* address, unsigned most) {
  unsigned old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old >= most ? 0 : old + 1, true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
inline void __threadfence() { gf::emulated::Fence(); }

inline unsigned __float_as_uint(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The tests' processor code is compiled without fused multiply-add.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }

inline float rsqrtf(float x) { return 1 / std::sqrt(x); }

using std::isfinite;
using std::isnan;
using std::max;
using std::min;

#define GF_CALL_KERNEL(kernel, shape, ...) \
  ::gf::emulated::CallKernel(kernel, (shape).grid, (shape).block, (shape).stream, __VA_ARGS__)

namespace gf::emulated {

// The arguments are copied now; the kernel runs when its turn comes.
template <typename... Parameters>
void CallKernel(void (*kernel)(Parameters...), const dim3& grid, const dim3& block,
                cudaStream_t stream, Parameters... arguments) {
  if (!CanLaunch(grid, block)) return;
  Enqueue(stream, &Counts::kernels, [=, all = std::make_tuple(arguments...)] {
    RunGrid(grid, block, [&] { std::apply(kernel, all); });
  });
}

}  // namespace gf::emulated

#pragma once

// Note [Rotation] on blocks of vectors, for kernels compiled by simd_library.

#include <cstdint>
#include <utility>

#include "comm/quantized/quantized_buckets.h"
#include "comm/quantized/rotation_inline.h"
#include "comm/wire/wire_vector.h"

namespace gf {

static constexpr int kVectors = kQuantizedBlock / kNativeLanes;
static constexpr float kRotationNorm = 1.f / 16;
using Lanes = std::make_index_sequence<kNativeLanes>;

// Sums and differences of lanes whose numbers differ in the bit kStep.
template <int kStep, size_t... kLane>
GF_INLINE NativeVec ButterflyOfLanes(NativeVec v, std::index_sequence<kLane...>) {
  constexpr NativeBits kUpper = {(kLane & kStep ? 0x80000000u : 0u)...};
  const NativeVec other = __builtin_shufflevector(v, v, (kLane ^ kStep)...);
  return other + (NativeVec)((NativeBits)v ^ kUpper);
}

GF_INLINE NativeVec ButterfliesOfLanes(NativeVec v) {
  v = ButterflyOfLanes<1>(v, Lanes());
  v = ButterflyOfLanes<2>(v, Lanes());
  if constexpr (kNativeLanes > 4) v = ButterflyOfLanes<4>(v, Lanes());
  if constexpr (kNativeLanes > 8) v = ButterflyOfLanes<8>(v, Lanes());
  return v;
}

// Of vectors whose numbers differ in a bit, from the lowest to the highest.
GF_INLINE void ButterfliesOfVectors(NativeVec* v) {
#pragma GCC unroll 8
  for (int step = 1; step < kVectors; step *= 2) {
#pragma GCC unroll 64
    for (int i = 0; i < kVectors; ++i) {
      if ((i & step) != 0) continue;
      const NativeVec low = v[i], high = v[i + step];
      v[i] = low + high;
      v[i + step] = low - high;
    }
  }
}

template <size_t... kLane>
GF_INLINE NativeBits LaneNumbers(std::index_sequence<kLane...>) {
  return NativeBits{static_cast<uint32_t>(kLane)...};
}

// Vector i of the block with its signs changed.
GF_INLINE NativeVec Signed(NativeVec v, int64_t begin, int i) {
  const int first = i * kNativeLanes;
  const NativeBits signs = NativeBits{} + RotationSigns(begin, first / 32);
  const NativeBits shifts = (31u - static_cast<uint32_t>(first % 32)) - LaneNumbers(Lanes());
  return (NativeVec)((NativeBits)v ^ (signs << shifts & 0x80000000u));
}

GF_INLINE void Rotate(int64_t begin, NativeVec* x) {
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] = ButterfliesOfLanes(Signed(x[i], begin, i));
  ButterfliesOfVectors(x);
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] *= kRotationNorm;
}

GF_INLINE void Unrotate(int64_t begin, NativeVec* x) {
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] = ButterfliesOfLanes(x[i]);
  ButterfliesOfVectors(x);
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) x[i] = Signed(x[i] * kRotationNorm, begin, i);
}

}  // namespace gf

#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/simd.h"

namespace gf {

// Between numbers as they lie in memory (`Own`: FP32 or BF16) and as they travel (`Wire`: FP32,
// BF16 or FP16). Sums are made in FP32 and rounded to nearest even. Arrays need not be aligned and
// do not overlap; float, uint16_t (BF16, FP16).
struct WireFunctions {
  // wire[i] = own[i] as Wire, and own[i] = wire[i], so that both sides hold the same value.
  void (*encode)(void* own, void* wire, int64_t count);
  // own[i] = wire[i]
  void (*decode)(const void* wire, void* own, int64_t count);
  // own[i] += wire[i]
  void (*add)(const void* wire, void* own, int64_t count);
};
struct WireKernels {
  WireFunctions fp32_fp32, fp32_bf16, fp32_fp16, bf16_fp32, bf16_bf16, bf16_fp16;  // own_wire
};
GF_SIMD_DECLARE(WireKernels, Wires)

}  // namespace gf

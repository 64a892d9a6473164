#pragma once

// Loads and stores of FP32 and BF16 for kernels compiled by simd_library. They are static, so that
// each variant has its own copy, and use plain integer arithmetic, so that the compiler vectorizes
// loops.

#include <cstdint>

namespace gf {

static inline __attribute__((always_inline)) float Load(const float* p) { return *p; }

static inline __attribute__((always_inline)) float Load(const uint16_t* p) {
  const uint32_t bits = static_cast<uint32_t>(*p) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline __attribute__((always_inline)) void Store(float* p, float value) { *p = value; }

// Rounds to nearest even; NaN stays NaN.
static inline __attribute__((always_inline)) void Store(uint16_t* p, float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  *p = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace gf

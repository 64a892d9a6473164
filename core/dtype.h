#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace gf {

// The number types of the program, as run-time values.
enum class DType : uint8_t { kFP32, kFP16, kBF16, kUINT8, kINT64 };

// Bytes of one element.
size_t SizeOf(DType type);

// "FP32", "BF16", ...
const char* Name(DType type);

// BF16 is the upper half of an FP32 number. Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t ToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float FromBF16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

}  // namespace gf

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"

namespace gf {

// 16-bit floating-point numbers from their definition, in double: what kernels are held to.
class HalfFormat {
 public:
  static const HalfFormat& Of(DType type) {
    static const HalfFormat fp16(5), bf16(8);
    return type == DType::kFP16 ? fp16 : bf16;
  }

  double ValueOf(uint16_t pattern) const {
    const double magnitude = Magnitude(pattern & 0x7fff);
    return pattern & 0x8000 ? -magnitude : magnitude;
  }

  // The nearest number, of two equally near ones that with the even pattern. NaN gives a NaN.
  uint16_t Nearest(double value) const {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return sign | 0x7fff;
    const double magnitude = std::fabs(value);
    if (magnitude >= finite_.back()) return sign | infinity_;
    // Patterns of positive numbers are in the order of their values.
    const auto above = std::upper_bound(finite_.begin(), finite_.end(), magnitude);
    const uint16_t low = static_cast<uint16_t>(above - finite_.begin() - 1);
    const double middle = (finite_[low] + finite_[low + 1]) / 2;
    const bool up = magnitude > middle || (magnitude == middle && low % 2 == 1);
    return sign | static_cast<uint16_t>(low + up);
  }

 private:
  explicit HalfFormat(int exponent_bits)
      : mantissa_bits_(15 - exponent_bits),
        bias_((1 << (exponent_bits - 1)) - 1),
        infinity_(static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits_)) {
    for (int pattern = 0; pattern < infinity_; ++pattern) finite_.push_back(Magnitude(pattern));
    // Where infinity would lie: rounding treats it as the next number.
    finite_.push_back(std::ldexp(1., bias_ + 1));
  }

  double Magnitude(int pattern) const {
    const int exponent = pattern >> mantissa_bits_;
    const int mantissa = pattern & ((1 << mantissa_bits_) - 1);
    if (pattern == infinity_) return std::numeric_limits<double>::infinity();
    if (pattern > infinity_) return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias_ - mantissa_bits_);
    return std::ldexp(mantissa + (1 << mantissa_bits_), exponent - bias_ - mantissa_bits_);
  }

  int mantissa_bits_, bias_;
  uint16_t infinity_;
  std::vector<double> finite_;
};

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Same bits, or both NaN.
inline bool SameNumber(float a, float b) {
  return BitsOf(a) == BitsOf(b) || (std::isnan(a) && std::isnan(b));
}

// What is left of a number in memory of this type.
inline float Rounded(DType type, float value) {
  if (type == DType::kFP32) return value;
  const HalfFormat& format = HalfFormat::Of(type);
  return static_cast<float>(format.ValueOf(format.Nearest(value)));
}

// Numbers in memory, from any byte on, with a guard behind them.
class Numbers {
 public:
  Numbers(DType type, int64_t count, int64_t misalignment = 0)
      : type_(type),
        count_(count),
        start_(misalignment),
        bytes_(misalignment + count * SizeOf(type) + kGuard, kGuardByte) {
    for (int64_t i = 0; i < count; ++i) Set(i, 0);
  }

  void* data() { return bytes_.data() + start_; }
  DType type() const { return type_; }
  int64_t count() const { return count_; }

  float Get(int64_t i) const {
    const unsigned char* p = bytes_.data() + start_ + i * SizeOf(type_);
    if (type_ == DType::kFP32) {
      float value;
      std::memcpy(&value, p, sizeof(value));
      return value;
    }
    uint16_t half;
    std::memcpy(&half, p, sizeof(half));
    return static_cast<float>(HalfFormat::Of(type_).ValueOf(half));
  }

  // Rounds to nearest even.
  void Set(int64_t i, float value) {
    if (type_ == DType::kFP32) {
      SetBits(i, BitsOf(value));
    } else {
      SetBits(i, HalfFormat::Of(type_).Nearest(value));
    }
  }

  // The low bits of `bits`.
  void SetBits(int64_t i, uint32_t bits) {
    std::memcpy(bytes_.data() + start_ + i * SizeOf(type_), &bits, SizeOf(type_));
  }

  void FillGaussian(Random* random, float scale = 1) {
    for (int64_t i = 0; i < count_; ++i) Set(i, random->Gaussian() * scale);
  }

  bool GuardIntact() const {
    return std::all_of(bytes_.end() - kGuard, bytes_.end(),
                       [](unsigned char byte) { return byte == kGuardByte; });
  }

  bool operator==(const Numbers& other) const { return bytes_ == other.bytes_; }

 private:
  static constexpr int kGuard = 64;
  static constexpr unsigned char kGuardByte = 0xa5;

  DType type_;
  int64_t count_, start_;
  std::vector<unsigned char> bytes_;
};

}  // namespace gf
